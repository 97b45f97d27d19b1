import PushmillStores

/// Compares a partition's log with the one that was read before, while its last records are read again. A log changes
/// only at its end, and by compaction: if it has the same record at a mark, it is the same up to there.
struct LogComparison {
    /// Offsets before the last record that are read again at most: more would be cheap for no one.
    static let window: Int64 = 10_000

    enum Verdict {
        /// Records that were read before are still to come.
        case open
        case same, different
        /// The log has none of the records: compaction has removed them, or it is another log, such as one with
        /// transaction markers in their places.
        case unknown
    }

    /// The last record that was read before.
    let last: RecordPosition
    /// A mark before those that are read again.
    let distant: RecordPosition?
    /// Not compared yet, by offset.
    private var marks: ArraySlice<RecordPosition>
    /// The last mark at which the log has the same record.
    private(set) var agreed: RecordPosition?

    /// Of the marks, by offset, in the log's range. What was read up to `agreed` is known to be of the same log.
    init?(_ marks: [RecordPosition], in range: Range<Int64>, agreed: RecordPosition?) {
        guard let last = marks.last else { return nil }
        self.last = last
        let first = agreed ?? marks.first
        distant = first.flatMap { range.contains($0.offset) && $0.offset < last.offset - Self.window ? $0 : nil }
        let lowest = max(range.lowerBound, last.offset - Self.window, agreed?.offset ?? 0)
        let agreedMark = agreed.flatMap { $0.offset >= lowest && $0.offset < last.offset ? $0 : nil }
        self.marks = ([agreedMark].compactMap(\.self) + marks.filter { $0.offset >= lowest && $0 != agreedMark })[...]
    }

    /// Where to begin reading.
    var start: Int64 { marks.first?.offset ?? last.offset + 1 }

    mutating func compare(_ position: RecordPosition) -> Verdict {
        while let mark = marks.first, mark.offset <= position.offset {
            marks.removeFirst()
            guard mark.offset == position.offset else { continue }
            if mark.timestamp != position.timestamp { return .different }
            agreed = mark
        }
        return position.offset < last.offset ? .open : verdict
    }

    /// The log ends before this offset.
    func end(at offset: Int64) -> Verdict { offset <= last.offset ? .different : verdict }

    private var verdict: Verdict { agreed == nil ? .unknown : .same }
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
    /// The last record of each at which its log was the one that was read before.
    var agreed: [Int32: RecordPosition] = [:]

    var areServed: Bool { served == all }
    var areWhole: Bool { whole == all }

    /// Keeps what is known of the partitions that stay.
    mutating func become(_ partitions: Set<Int32>) {
        all = partitions
        served.formIntersection(partitions)
        whole.formIntersection(partitions)
        agreed = agreed.filter { partitions.contains($0.key) }
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
        for partition in partitions { agreed[partition] = nil }
        return !all.isDisjoint(with: partitions)
    }
}
