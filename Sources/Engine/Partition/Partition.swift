import PushmillKafka
import PushmillStages
import PushmillStores

/// One partition that the group has given to this shard, from then until it is given back.
struct Partition<Ports: ShardPorts & ~Copyable>: ~Copyable {
    enum State: Equatable {
        /// What the group has committed was asked for; it is asked again then.
        case asking(again: Instant)
        /// Its counts are read from the changelog, and what else it needs.
        case restoring
        /// What the log holds was asked for, because it did not hold what was to be read; it is asked again then.
        case askingRange(again: Instant)
        /// Its log may be another than that of its counts: what stands at the mark says so, if it comes by then.
        case comparing(CountState, until: Instant)
        /// It is to be read on from this offset; tried again then.
        case seeking(Int64, again: Instant)
        case running
        /// Nothing is read of it: what is done beyond one that hangs would not fit into a commit, too many wait behind one, or
        /// its changelog does not answer. It goes on at the ledger's next offset, when this one has room.
        case stalled(Int64)
        /// Nothing more is taken of it; it goes with the revocation that it is part of.
        case draining
        case gone
    }

    let place: TopicPartition
    /// The number of its topic, as records carry it.
    let topic: UInt32
    var state: State
    /// When this shard began to ask what the group has committed of it: as the group gave it, or when it had to ask
    /// anew.
    var beganAt: Instant
    /// Raised whenever what was taken before is void.
    var epoch: UInt32 = 1
    var ledger = OffsetLedger(startingAt: 0)
    /// Where the group's commit stands, or where it began.
    var committed: OffsetLedger.Snapshot
    /// Its ledger begins where the group, or the rule for what is not committed, says.
    var hasPosition = false
    /// The consumer has been told to read it.
    var isRead = false
    /// The consumer has been told to read nothing of it for now: a seek would not change that.
    var isStopped = false
    /// The next record must be the one after the last taken: something came between that may have lost records.
    var isUncertain = false
    /// A gap that was found then: the offset after it. If it comes again the log itself has the gap.
    var gap: Int64?
    /// Where it begins is to be committed before anything else is.
    var mustCommit = false
    /// What the log holds, once that was asked for.
    var range: Range<Int64>?
    /// Where somebody else has set it to begin.
    var foreignOffset: Int64?
    /// The group is asked whether it is still this shard's, before it goes on in a log that has lost records.
    var isAsked = false
    /// Entries of this epoch that are not done.
    var unfinished = 0
    /// Those of them that wait behind an earlier one of their key.
    var waiting = 0
    /// nil where nothing is counted.
    var counts: Box<PartitionCounts<Ports.Disk>>?
    /// The counts are whole.
    var isRestored = false
    var incarnation: UInt32 = 0
    /// The highest count of a log that seems to have been made anew: to be asked for once more before that is believed.
    var suspected: CountState?
    /// Of the last record taken, in milliseconds since 1970.
    var timestamp: Int64 = 0
    /// When the changelog is told again which record its log has at one of its places.
    private(set) var nextMark: Instant
    /// Counts that are settled and not in the changelog.
    var changes = ChangeQueue()
    /// Of these, and of those of partitions that had the number before, what was published and is not answered.
    var changesUnanswered = 0
    /// The last changelog record that this shard is known to have stored.
    var lastStored: RecordPosition?
    /// How far the changelog is known: read, or written while the partition was this shard's.
    var changelogEnd: RecordPosition?
    /// The offset that its next record in the changelog has unless somebody else writes there; nil where not known.
    var changelogNext: Int64?
    /// Somebody has written into its changelog since that was read: perhaps an owner that had lost it, what it had on
    /// its way. It is looked at again then, and is not known beyond that before.
    private(set) var looksAgain: Instant?
    private var latestLook = Instant.past
    /// The time to finish is over: what is not published of it is left to its next owner, and nothing is sent again.
    private(set) var isGivenUp = false
    /// The timestamp of what was first published of it in the open transaction; nil where nothing was.
    var transactionStart: Int64?

    init(_ place: TopicPartition, topic: UInt32, now: Instant) {
        self.place = place
        self.topic = topic
        state = .asking(again: now)
        beganAt = now
        nextMark = now + Self.marksEvery
        committed = OffsetLedger(startingAt: 0).snapshot()
    }

    /// Its ledger says how far it is.
    var isServed: Bool {
        switch state {
        case .running, .seeking, .stalled: isRead
        case .askingRange, .draining: isRead && hasPosition
        case .asking, .restoring, .comparing, .gone: false
        }
    }

    /// It is not read yet: where it begins, or its counts, are still asked for.
    var isBeginning: Bool {
        switch state {
        case .asking, .restoring, .comparing: true
        case .askingRange: !isRead || !hasPosition
        case .seeking, .running, .stalled, .draining, .gone: false
        }
    }

    /// Something of it was published in the open transaction.
    var isInTransaction: Bool { transactionStart != nil }

    var needsCommit: Bool { isServed && (mustCommit || ledger.isDirty) && mayCommit }

    /// What says of which log its counts are comes before a commit.
    var mayCommit: Bool { changes.rewrites == 0 || changes.unstored == 0 }

    /// Nothing that was taken is unfinished, or on its way to the changelog.
    var isDrained: Bool { unfinished == 0 && changes.unstored == 0 }

    private static var marksEvery: Duration { .seconds(5) }
    /// Whatever else is written there time and again.
    private static var looksEvery: Duration { .seconds(10) }

    mutating func noteMark(_ now: Instant) { nextMark = now + Self.marksEvery }

    mutating func noteStored(at offset: Int64, timestamp: Int64) {
        guard offset > lastStored?.offset ?? -1 else { return }
        lastStored = RecordPosition(partition: place.partition, offset: offset, timestamp: timestamp)
    }

    /// Answered for each record of this shard's, in their order. An offset that is nobody's of here is somebody else's.
    mutating func noteAnswered(at offset: Int64, now: Instant) {
        if let next = changelogNext, offset > next, !isGivenUp {
            looksAgain = looksAgain ?? max(now, latestLook + Self.looksEvery)
        }
        changelogNext = offset < 0 ? nil : offset + 1
    }

    /// Counts of what was dropped would be taken for what is right if its changelog were looked at again.
    mutating func giveUp() { (isGivenUp, looksAgain) = (true, nil) }

    /// The changelog was read up to that offset.
    mutating func noteRead(to offset: Int64, now: Instant) {
        (changelogNext, looksAgain, latestLook) = (offset, nil, now)
    }

    /// The changelog is known up to there: the partition was this shard's all the time.
    mutating func noteKnown(_ stored: RecordPosition?) {
        guard looksAgain == nil, let stored, stored.offset > changelogEnd?.offset ?? -1 else { return }
        changelogEnd = stored
    }

    /// What the changelog has goes to the disk, or so many rows of it. False when that failed; nothing is lost then.
    mutating func writeBehind(_ most: Int = .max) -> Bool {
        guard isRestored else { return true }
        // What is to be written anew would not be found again by who reads on from there.
        let end = changes.rewrites == 0 ? changelogEnd : nil
        return counts?.value.writeBehind(most, at: end) ?? true
    }

    /// Goes back to the last commit.
    mutating func rewind() {
        let metadata = try? OffsetMetadata(decoding: committed.metadata, committedAt: committed.offset)
        ledger = OffsetLedger(startingAt: committed.offset, completed: metadata?.completed ?? [])
        gap = nil
        transactionStart = nil
    }
}

/// A value in memory of its own. Whether an optional one is there is seen at a pointer: of a large value that cannot be
/// copied the compiler would copy every byte to look at it.
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

/// The partitions of a shard: by number, and by what records carry.
struct PartitionTable<Ports: ShardPorts & ~Copyable>: ~Copyable {
    private var slots: UnsafeMutablePointer<Partition<Ports>>
    private var capacity = 16
    /// Numbers that were given out; those of partitions that are gone and have nothing in flight are given out again.
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

    var indices: Range<Int32> { 0..<Int32(count) }

    mutating func insert(_ place: TopicPartition, topic: UInt32, now: Instant) -> Int32 {
        for index in indices where slots[Int(index)].state == .gone {
            let (epoch, changes) = (slots[Int(index)].epoch, slots[Int(index)].changes)
            let changesUnanswered = slots[Int(index)].changesUnanswered
            slots[Int(index)] = Partition(place, topic: topic, now: now)
            // Entries of the partition that had the number before are of an earlier epoch.
            slots[Int(index)].epoch = epoch &+ 1
            // What is answered late of that one is not taken for this one's.
            slots[Int(index)].changes = changes
            slots[Int(index)].changesUnanswered = changesUnanswered
            enter(index, topic, place.partition)
            return index
        }
        if count == capacity { grow() }
        (slots + count).initialize(to: Partition(place, topic: topic, now: now))
        count += 1
        enter(Int32(count - 1), topic, place.partition)
        return Int32(count - 1)
    }

    mutating func remove(_ index: Int32) {
        let partition = slots[Int(index)].place.partition
        byTopic[Int(slots[Int(index)].topic)][Int(partition)] = -1
        slots[Int(index)].state = .gone
        slots[Int(index)].epoch &+= 1
        slots[Int(index)].counts = nil
        slots[Int(index)].changes.removeAll()
        slots[Int(index)].unfinished = 0
    }

    /// -1 for a partition that is not here.
    @inline(__always)
    func index(topic: UInt32, partition: Int32) -> Int32 {
        guard topic < byTopic.count, partition >= 0, partition < byTopic[Int(topic)].count else { return -1 }
        return byTopic[Int(topic)][Int(partition)]
    }

    func index(of place: TopicPartition) -> Int32? {
        indices.first { slots[Int($0)].state != .gone && slots[Int($0)].place == place }
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
