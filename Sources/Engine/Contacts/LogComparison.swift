import PushmillStores

/// Compares a partition's log with the one that was read before, while its last records are read again. A log changes
/// only at its end, and by compaction: if it has the same record at a mark, it is the same up to there. Marks before the
/// last one that was found to be the same are not needed.
struct LogComparison {
    /// Offsets before the last record that are read again at most: more would be cheap for no one.
    static let window: Int64 = 10_000

    enum Verdict {
        /// Records that were read before are still to come.
        case open
        /// It has the records at all marks.
        case same
        /// It has other records there, or none: compaction may have removed some, but they may also be lost, as in an
        /// unclean election, with others beside them, and what replaced them compacted away.
        case different
    }

    /// The last record that was read before.
    let last: RecordPosition
    /// The first mark, if it is before those that are read again.
    let distant: RecordPosition?
    /// Not compared yet, by offset.
    private var marks: ArraySlice<RecordPosition>

    /// Of the marks, by offset, in the log's range. The first one is the last record at which the log was found to be
    /// the same, or the first one that was read.
    init?(_ marks: [RecordPosition], in range: Range<Int64>) {
        guard let last = marks.last else { return nil }
        self.last = last
        distant = marks.first.flatMap { range.contains($0.offset) && $0.offset < last.offset - Self.window ? $0 : nil }
        let lowest = max(range.lowerBound, last.offset - Self.window)
        self.marks = marks.filter { $0.offset >= lowest }[...]
    }

    /// Where to begin reading.
    var start: Int64 { marks.first?.offset ?? last.offset + 1 }

    mutating func compare(_ position: RecordPosition) -> Verdict {
        while let mark = marks.first, mark.offset <= position.offset {
            guard mark == position else { return .different }
            if PlantedContactFault.isPlanted(.oneMarkIsEnough) { return .same }
            marks.removeFirst()
        }
        return marks.isEmpty ? .same : .open
    }

    /// The log ends here.
    var verdict: Verdict { marks.isEmpty ? .same : .different }
}

/// The partitions of a contacts topic that this instance reads.
struct FollowedPartitions {
    private(set) var all: Set<Int32> = []
    /// Read to their ends since they have been followed.
    private(set) var served: Set<Int32> = []
    /// Served, and not to be reread from their beginning. A partition that is reread stays served meanwhile.
    private(set) var whole: Set<Int32> = []
    /// Of those whose last records are being read again.
    var comparisons: [Int32: LogComparison] = [:]

    var areServed: Bool { served == all }
    var areWhole: Bool { whole == all }

    /// Keeps what is known of the partitions that stay. One that is whole and not served has waited for others, which may
    /// be gone: it is to reach its end again.
    mutating func become(_ partitions: Set<Int32>) {
        served.formIntersection(partitions)
        whole.formIntersection(partitions == all ? partitions : served)
        all = partitions
    }

    /// These partitions have been read to their ends, and of those in `shown` the store finds what was read.
    mutating func complete(_ partitions: Set<Int32>, showing shown: Set<Int32>) {
        served.formUnion(shown.intersection(all))
        whole.formUnion(partitions.intersection(all))
    }

    /// The followed partitions that a topic with `count` partitions does not have.
    func missing(ofTopic count: Int) -> [Int32] { all.filter { $0 >= count }.sorted() }

    /// How often to ask for the topic's partition count. Events wait for missing partitions, so more often then.
    func looksEvery(ofTopic count: Int) -> Duration { missing(ofTopic: count).isEmpty ? .seconds(60) : .seconds(2) }

    /// These partitions must be reread from their beginning. True if any of them is followed.
    mutating func forget(_ partitions: Set<Int32>) -> Bool {
        whole.subtract(partitions)
        return !all.isDisjoint(with: partitions)
    }
}
