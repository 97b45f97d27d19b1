import PushmillKafka
import PushmillStages
import PushmillStores

/// One partition that the group has assigned to this shard, until it is given back.
struct Partition<Ports: ShardPorts & ~Copyable>: ~Copyable {
    enum State: Equatable {
        /// The group was asked for the committed offset, and is asked again at `again`.
        case asking(again: Instant)
        /// Waits for its counts from the changelog, and for its contacts.
        case restoring
        /// Asked for the log's range, since nothing is committed, somebody else set the offset (if counts are kept) or
        /// the log lacks the next one; asked again at `again`.
        case askingRange(again: Instant)
        /// Its log may not be the one that was counted: the record at the mark tells, which is asked for again at
        /// `again`. If the log ends before what was taken of it, `start` is where it begins.
        case comparing(CountState, start: Int64?, again: Instant)
        /// To be read on from this offset: the seek is made, or tried again, at `again`.
        case seeking(Int64, again: Instant)
        case running
        /// Not read: offsets done beyond a hanging record would not fit into a commit, too many wait behind one, or its
        /// changelog does not answer or must be reread. Goes on at the ledger's next offset once this offset has room.
        case stalled(Int64)
        /// No more of its records are taken. It is given back with its revocation.
        case draining
        case gone
    }

    let id: TopicPartition
    /// The number by which records name its topic.
    let topic: UInt32
    var state: State
    /// When this shard began to ask for the committed offset: at the assignment, or when it had to ask anew.
    var beganAt: Instant
    /// Raised whenever everything taken before becomes void.
    var epoch: UInt32 = 1
    var ledger = OffsetLedger(startingAt: 0)
    /// The group's last commit, or the start if there is none.
    var committed: OffsetLedger.Snapshot
    /// The ledger begins at the committed offset, or where `reset` says if nothing is committed.
    var hasPosition = false
    /// The consumer has been told to read it.
    var isHandedToConsumer = false
    /// The consumer was told to stop reading it for now: a seek does not resume it.
    var isStopped = false
    /// Records may have been lost since the last one taken: if the next one does not follow it, the gap is read again.
    var isUncertain = false
    /// The offset after a gap found then. If it comes again, the log itself has the gap.
    var gap: Int64?
    /// Its position must be committed even if the ledger has not changed, for instance where it starts.
    var mustCommit = false
    /// The group has not accepted the beginning of a recreated log: until then nothing of it is taken. A shard that has
    /// lost the partition unnoticed would count events of that log under an incarnation that its successor gives up.
    var isAnew = false
    /// The log's range, once the answer has come. If nobody of this group has committed an offset, it is kept until the
    /// counts are restored, which tell whether it is the range of their log.
    var range: Range<Int64>?
    /// The committed offset that somebody else has set.
    var foreignOffset: Int64?
    /// The group was asked whether this shard still owns the partition, before it goes on in a log that lost records.
    var isOwnershipAsked = false
    /// Entries of this epoch that are not done.
    var unfinished = 0
    /// Those of them that wait behind an earlier entry with the same key.
    var waiting = 0
    /// nil if nothing is counted, and until the counts' file is opened.
    var counts: Box<PartitionCounts<Ports.Disk>>?
    /// The counts have been restored completely.
    var isRestored = false
    /// When rows were last written to the disk.
    var writtenAt = Instant.past
    var incarnation: UInt32 = 0
    /// The highest count of a log that seems to be recreated: the group is asked once more before that is believed.
    var suspected: CountState?
    /// The timestamp of the last record taken, in milliseconds since 1970.
    var timestamp: Int64 = 0
    /// When the next log mark goes into the changelog: which record the log has at one of its offsets.
    private(set) var nextLogMark: Instant
    /// Settled counts that the changelog does not have yet.
    var changes = ChangeQueue()
    /// How many changes were published and not answered, including those of partitions that had the number before.
    var changesUnanswered = 0
    var changelog = ChangelogProgress()
    /// The time to finish is over: what is unpublished is left to the next owner, and nothing is resent.
    private(set) var isGivenUp = false
    /// The timestamp of what it first published in the open transaction; nil if nothing was published.
    var transactionStart: Int64?

    init(_ id: TopicPartition, topic: UInt32, now: Instant) {
        self.id = id
        self.topic = topic
        state = .asking(again: now)
        beganAt = now
        nextLogMark = now + Self.logMarksEvery
        committed = OffsetLedger(startingAt: 0).snapshot()
    }

    /// Its ledger tells its progress.
    var isServed: Bool {
        switch state {
        case .running, .seeking, .stalled: isHandedToConsumer
        case .askingRange, .draining: isHandedToConsumer && hasPosition
        case .asking, .restoring, .comparing, .gone: false
        }
    }

    /// Not read yet: its start or its counts are still unknown.
    var isBeginning: Bool {
        switch state {
        case .asking, .restoring, .comparing: true
        case .askingRange: !isHandedToConsumer || !hasPosition
        case .seeking, .running, .stalled, .draining, .gone: false
        }
    }

    /// Something of it was published in the open transaction.
    var isInTransaction: Bool { transactionStart != nil }

    var needsCommit: Bool { isServed && (mustCommit || ledger.isDirty) && mayCommit }

    /// A rewrite may tell to which log the counts belong: it must be stored before a commit.
    var mayCommit: Bool { changes.rewrites == 0 || changes.unstored == 0 }

    /// Nothing taken is unfinished, or on its way to the changelog.
    var isDrained: Bool { unfinished == 0 && changes.unstored == 0 }

    private static var logMarksEvery: Duration { .seconds(5) }

    mutating func noteLogMark(_ now: Instant) { nextLogMark = now + Self.logMarksEvery }

    mutating func giveUp() {
        isGivenUp = true
        // A reread would take the counts of dropped events for correct ones.
        changelog.endRereads()
    }

    /// Rows that the changelog has and the disk has not.
    var pendingRows: Int {
        mutating get { isRestored ? counts?.value.pendingRows ?? 0 : 0 }
    }

    mutating func isWorthWriting(_ now: Instant) -> Bool {
        guard isRestored else { return false }
        return counts?.value.isWorthWriting(waited: .nanoseconds(now.nanoseconds(since: writtenAt))) ?? false
    }

    /// Writes the rows that the changelog has to the disk, or goes on with that for up to `most` rows of the disk.
    /// False if that failed; nothing is lost then.
    mutating func writeBehind(_ most: Int = .max) -> Bool {
        guard isRestored else { return true }
        // With rewrites pending no position is written: a reader that starts there would miss the stale records.
        let end = changes.rewrites == 0 ? changelog.end : nil
        return counts?.value.writeBehind(most, at: end) ?? true
    }

    /// Writes the last rows before the partition is given up, unless they are few in a large file.
    mutating func writeLast() {
        if pendingRows == 0 || counts?.value.hasManyPending ?? false { _ = writeBehind() }
    }

    /// Goes back to the last commit.
    mutating func rewind() {
        let metadata = try? OffsetMetadata(decoding: committed.metadata, committedAt: committed.offset)
        ledger = OffsetLedger(startingAt: committed.offset, completed: metadata?.completed ?? [])
        gap = nil
        transactionStart = nil
    }
}

/// A value in its own memory. A test of an optional box reads a pointer; to test an optional large noncopyable value,
/// the compiler would copy every byte.
struct Box<Value: ~Copyable>: ~Copyable {
    private let pointer: UnsafeMutablePointer<Value>

    init(_ value: consuming Value) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: value)
    }

    deinit {
        pointer.deinitialize(count: 1)
        pointer.deallocate()
    }

    @inline(__always)
    var value: Value {
        unsafeAddress { UnsafePointer(pointer) }
        unsafeMutableAddress { pointer }
    }
}

/// The partitions of a shard: by their number in it, and by the topic and partition numbers of records.
struct PartitionTable<Ports: ShardPorts & ~Copyable>: ~Copyable {
    private var slots: UnsafeMutablePointer<Partition<Ports>>
    private var capacity = 16
    /// Numbers given out so far. Those of partitions that are gone are given out again.
    private(set) var count = 0
    private var byTopic: [[Int32]] = []

    init() { slots = .allocate(capacity: capacity) }

    deinit {
        slots.deinitialize(count: count)
        slots.deallocate()
    }

    @inline(__always)
    subscript(index: Int32) -> Partition<Ports> {
        unsafeAddress { UnsafePointer(slots + Int(index)) }
        unsafeMutableAddress { slots + Int(index) }
    }

    /// Where a partition's changes are, until partitions come or go: what reads them there may use the shard as well.
    @inline(__always)
    func changes(of index: Int32) -> UnsafePointer<ChangeQueue> {
        withUnsafeMutablePointer(to: &(slots + Int(index)).pointee.changes) { UnsafePointer($0) }
    }

    var indices: Range<Int32> { 0..<Int32(count) }

    mutating func insert(_ id: TopicPartition, topic: UInt32, now: Instant) -> Int32 {
        var partition = Partition<Ports>(id, topic: topic, now: now)
        let index: Int32
        if let free = indices.first(where: { slots[Int($0)].state == .gone }) {
            // Entries of the partition that had the number before belong to an earlier epoch.
            partition.epoch = self[free].epoch &+ 1
            // Late reports for that partition must not count for this one.
            partition.changes = self[free].changes
            partition.changesUnanswered = self[free].changesUnanswered
            self[free] = partition
            index = free
        } else {
            if count == capacity { grow() }
            (slots + count).initialize(to: partition)
            index = Int32(count)
            count += 1
        }
        enter(index, topic, id.partition)
        return index
    }

    mutating func remove(_ index: Int32) {
        byTopic[Int(self[index].topic)][Int(self[index].id.partition)] = -1
        self[index].state = .gone
        self[index].epoch &+= 1
        self[index].counts = nil
        self[index].changes.removeAll()
        self[index].unfinished = 0
    }

    /// -1 if the shard does not have the partition.
    @inline(__always)
    func index(topic: UInt32, partition: Int32) -> Int32 {
        guard topic < byTopic.count, partition >= 0, partition < byTopic[Int(topic)].count else { return -1 }
        return byTopic[Int(topic)][Int(partition)]
    }

    func index(of id: TopicPartition) -> Int32? {
        indices.first { slots[Int($0)].state != .gone && slots[Int($0)].id == id }
    }

    private mutating func enter(_ index: Int32, _ topic: UInt32, _ partition: Int32) {
        while byTopic.count <= Int(topic) { byTopic.append([]) }
        while byTopic[Int(topic)].count <= Int(partition) { byTopic[Int(topic)].append(-1) }
        byTopic[Int(topic)][Int(partition)] = index
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Partition<Ports>>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: slots, count: count)
        slots.deallocate()
        slots = larger
        capacity *= 2
    }
}
