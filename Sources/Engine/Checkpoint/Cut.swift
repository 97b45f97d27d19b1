import PushmillKafka
import PushmillStores

/// One moment: how far partitions are, and the counts that go with that.
struct Cut {
    struct Mark {
        let partition: Int32
        let epoch: UInt32
        let place: TopicPartition
        let snapshot: OffsetLedger.Snapshot

        var position: Position { Position(place, offset: snapshot.offset, metadata: snapshot.metadata) }
    }

    var marks: [Mark] = []
    var changes = CountChanges()
    /// So many of the changes have been published.
    var published = 0
    /// The last changelog record of each partition that is known to be stored.
    var ends: [Int32: RecordPosition] = [:]
    /// The changes carry the time of their events.
    var hasEventTime = false

    /// What belongs to a partition that has gone, or gone back.
    mutating func remove(partition: Int32) {
        marks.removeAll { $0.partition == partition }
        ends[partition] = nil
        guard !changes.isEmpty else { return }
        published -= changes.list[..<published].count { $0.partition == partition }
        changes.remove(partition: partition)
    }
}

/// What is settled of counts and not yet in the changelog: records to be, in the order in which they were settled. Keys
/// stand one behind the other in one buffer.
struct CountChanges {
    struct Change {
        let partition: Int32
        let account: AccountHash
        let state: CountState
        /// It says what is known anyway, and is no event's.
        let isRewrite: Bool
        /// Of the event that was counted, in milliseconds since 1970.
        let timestamp: Int64
        let key: Range<Int>
    }

    private(set) var list: [Change] = []
    private var keys: [UInt8] = []

    var isEmpty: Bool { list.isEmpty }
    var count: Int { list.count }

    mutating func add(
        partition: Int32, _ account: AccountHash, _ state: CountState, isRewrite: Bool = false, timestamp: Int64,
        appendKey: (inout [UInt8]) -> Void
    ) {
        let start = keys.count
        appendKey(&keys)
        list.append(
            Change(
                partition: partition, account: account, state: state, isRewrite: isRewrite, timestamp: timestamp,
                key: start..<keys.count))
    }

    func withKey<Result>(of change: Change, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        keys.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[change.key])) }
    }

    mutating func removeAll() {
        list.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
    }

    /// Takes out what is of those partitions, in its order.
    mutating func take(of isWanted: (Int32) -> Bool) -> CountChanges {
        var taken = CountChanges()
        for change in list where isWanted(change.partition) { taken.add(change, of: self) }
        list.removeAll { isWanted($0.partition) }
        return taken
    }

    private mutating func add(_ change: Change, of other: CountChanges) {
        other.withKey(of: change) { key in
            add(
                partition: change.partition, change.account, change.state, isRewrite: change.isRewrite,
                timestamp: change.timestamp
            ) { $0.append(contentsOf: key) }
        }
    }

    /// What was counted has come to nothing.
    mutating func removeCounted() { list.removeAll { !$0.isRewrite } }

    /// What was counted of a partition that has gone, or gone back.
    mutating func remove(partition: Int32) { list.removeAll { $0.partition == partition } }

    /// Goes before what was settled since.
    mutating func putBack(_ earlier: CountChanges) {
        var merged = earlier
        for change in list { merged.add(change, of: self) }
        self = merged
    }
}
