import PushmillPayload
import PushmillStages
import PushmillStores

/// A message from its intake until its acknowledgment. Written by its shard only. Number 0 is no entry.
struct Entry {
    enum State: UInt8 {
        case free
        /// Taken and not run yet: it waits for an earlier entry of its key, or for its turn in the batch.
        case waiting
        /// One of its stages runs on the pool.
        case suspended
        /// Its output waits in `OutputRetry`.
        case held
        case published
        /// Done, but an earlier entry of its account is not.
        case done
    }

    var offset: Int64 = 0
    var timestamp: Int64 = 0
    /// When it was taken from the log, moved later by the time that brokers have held it up since.
    var taken = Instant.past
    /// When its stage is abandoned: its deadline, or the end of the stage's budget. If held: since when.
    var wakeUp = Instant.never
    var account = AccountHash(high: 0, low: 0)
    /// The state of its account after this message.
    var counted = CountState(count: 0)
    /// The key that orders it; 0 if there is none, or if it was not needed yet.
    var key: UInt64 = 0
    /// Its number in the order of publishing.
    var sequence: UInt64 = 0
    /// The number of its partition in the shard.
    var partition: Int32 = 0
    /// The partition's epoch when the entry was taken: entries of an earlier epoch are void.
    var epoch: UInt32 = 0
    var generation: UInt32 = 0
    var byteCount: Int32 = 0
    /// The next entry that waits for the same key; in a free entry, the next free one.
    var next: UInt32 = 0
    /// The next entry that changed the same account.
    var successor: UInt32 = 0
    /// Its place in the heap of wake-ups.
    var heapIndex: UInt32 = .max
    var state = State.free
    var destination = Verdict.Destination.output
    var hasAccount = false
    /// The message was counted when it came for the first time.
    var wasCounted = false
    /// The message has ended and its badge counts, which is false for a dead letter of the chain's.
    var isCounted = false
    /// Its output was published, and the report is still to come.
    var isUnanswered = false
    /// The operation still to be applied to its account's count; with transactions, when its output is published.
    var operation: BadgeOperation?
    /// Its dead letter was refused too: the next one only names the message.
    var isNameOnly = false
    /// It changed its account's count.
    var hasChange = false
    /// An earlier entry of its account is not done.
    var hasPredecessor = false
    /// Later entries of its key wait for it.
    var holdsKey = false
    /// It leaves now, or at its turn, as if its deadline had passed.
    var isLate = false

    /// Brokers have held the entry up since then, or since it was taken if that was later.
    mutating func putOff(since: Instant, to now: Instant) {
        taken = taken < since ? taken.advanced(nanoseconds: now.nanoseconds(since: since)) : now
    }
}

/// The entries of a shard, in memory that is allocated once.
struct EntryTable: ~Copyable {
    private let entries: UnsafeMutablePointer<Entry>
    /// The changelog keys of accounts: a fixed place for each entry. The few longer ones are in `longNames`.
    private let names: UnsafeMutableRawPointer
    private var longNames: [UInt32: [UInt8]] = [:]
    private static let nameStride = 64

    let capacity: Int
    private(set) var count = 0
    private(set) var byteCount = 0
    private var firstFree: UInt32

    init(capacity: Int) {
        precondition(capacity > 0 && capacity < Int(Int32.max), "a shard has room for some entries")
        self.capacity = capacity
        entries = .allocate(capacity: capacity + 1)
        entries.initialize(repeating: Entry(), count: capacity + 1)
        names = .allocate(byteCount: (capacity + 1) * Self.nameStride, alignment: 8)
        for index in 1..<capacity { entries[index].next = UInt32(index + 1) }
        firstFree = 1
    }

    deinit {
        entries.deallocate()
        names.deallocate()
    }

    var indices: ClosedRange<UInt32> { 1...UInt32(capacity) }

    @inline(__always)
    subscript(index: UInt32) -> Entry {
        unsafeAddress { UnsafePointer(entries + Int(index)) }
        unsafeMutableAddress { entries + Int(index) }
    }

    /// 0 if there is no room.
    mutating func insert(bytes: Int) -> UInt32 {
        let index = firstFree
        guard index != 0 else { return 0 }
        firstFree = self[index].next
        var entry = Entry()
        entry.generation = self[index].generation
        entry.state = .waiting
        entry.byteCount = Int32(clamping: bytes)
        self[index] = entry
        count += 1
        byteCount += Int(entry.byteCount)
        return index
    }

    /// Adds to the bytes that the entry takes.
    mutating func add(bytes: Int, to index: UInt32) {
        let before = self[index].byteCount
        self[index].byteCount = Int32(clamping: Int(before) + bytes)
        byteCount += Int(self[index].byteCount - before)
    }

    /// Waiting messages count as taken that much later, because none could run since then.
    mutating func putOff(since: Instant, to now: Instant) {
        for index in indices where self[index].state == .waiting {
            self[index].putOff(since: since, to: now)
        }
    }

    mutating func remove(_ index: UInt32) {
        precondition(self[index].state != .free, "an entry is freed once")
        if !longNames.isEmpty { longNames[index] = nil }
        byteCount -= Int(self[index].byteCount)
        count -= 1
        self[index].state = .free
        self[index].generation &+= 1
        self[index].next = firstFree
        firstFree = index
    }

    private static let changeBit: UInt64 = 1 << 63

    /// The tag that travels with the entry's output. Never 0.
    func tag(of index: UInt32) -> UInt64 {
        UInt64(self[index].generation & 0x7FFF_FFFF) << 32 | UInt64(index)
    }

    /// nil if the entry has been freed since.
    func index(ofTag tag: UInt64) -> UInt32? {
        let index = UInt32(truncatingIfNeeded: tag)
        guard index > 0, Int(index) <= capacity, self[index].state != .free,
            UInt32(truncatingIfNeeded: tag >> 32) == self[index].generation & 0x7FFF_FFFF
        else { return nil }
        return index
    }

    /// The tag of a changelog record: the number of a change, and the number of its partition.
    static func changeTag(_ sequence: UInt32, _ partition: Int32) -> UInt64 {
        changeBit | UInt64(UInt32(bitPattern: partition)) << 32 | UInt64(sequence)
    }

    /// nil for the tag of an entry.
    static func change(ofTag tag: UInt64) -> (sequence: UInt32, partition: Int32)? {
        guard tag & changeBit != 0 else { return nil }
        return (UInt32(truncatingIfNeeded: tag), Int32(truncatingIfNeeded: tag >> 32 & 0x7FFF_FFFF))
    }

    mutating func setName(_ name: UnsafeRawBufferPointer, of index: UInt32) {
        guard name.count < Self.nameStride else {
            longNames[index] = Array(name)
            return
        }
        let place = names + Int(index) * Self.nameStride
        place.storeBytes(of: UInt8(truncatingIfNeeded: name.count), as: UInt8.self)
        if let start = name.baseAddress { (place + 1).copyMemory(from: start, byteCount: name.count) }
    }

    /// Appends the changelog key of the entry's account.
    func appendName(of index: UInt32, to bytes: inout [UInt8]) {
        if !longNames.isEmpty, let name = longNames[index] { return bytes.append(contentsOf: name) }
        let place = names + Int(index) * Self.nameStride
        let length = Int(place.load(as: UInt8.self))
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: place + 1, count: length))
    }
}
