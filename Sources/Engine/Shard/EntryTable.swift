import PushmillPayload
import PushmillStages
import PushmillStores

/// A message between take and acknowledgement. Written by its shard only; the number 0 is no entry.
struct Entry {
    enum State: UInt8 {
        case free
        /// Taken, and its turn has not come: it waits for an earlier one of its key, or for its batch.
        case waiting
        /// One of its stages runs on the pool.
        case suspended
        /// Its output waits in `OutputRetry`.
        case held
        /// Its output was published.
        case published
        /// Done, but for an earlier one of its account that is not.
        case done
    }

    var offset: Int64 = 0
    var timestamp: Int64 = 0
    /// When it was taken from the log; later by as long as brokers have held it up since.
    var taken = Instant.past
    /// When its stage is abandoned: its deadline, or the end of the stage's budget. Since when it is held, where it is.
    var wakeUp = Instant.never
    var account = AccountHash(high: 0, low: 0)
    /// The state of its account to which it led.
    var counted = CountState(count: 0)
    /// What orders it; known only while something is held, or where it counts.
    var key: UInt64 = 0
    /// The order of publishing.
    var sequence: UInt64 = 0
    /// The number of its partition in the shard.
    var partition: Int32 = 0
    /// The partition's epoch when the entry was taken: nothing of an earlier epoch counts any more.
    var epoch: UInt32 = 0
    var generation: UInt32 = 0
    var byteCount: Int32 = 0
    /// The next that waits for the same key; in a free entry the next free one.
    var next: UInt32 = 0
    /// The next that changed the same account.
    var successor: UInt32 = 0
    /// Where it is in the heap of wake-ups.
    var heapIndex: UInt32 = .max
    var state = State.free
    var destination = Verdict.Destination.output
    var hasAccount = false
    /// It was counted before, when it came for the first time; once it has ended, whether its badge counts: not that of a
    /// dead letter of the chain's.
    var isCounted = false
    /// What was published of it is not reported on yet.
    var isUnanswered = false
    /// What it is still to do to its account's count; with transactions when it is published.
    var operation: BadgeOperation?
    /// Its dead letter was refused too: the next one only names the message.
    var isNameOnly = false
    /// It changed its account's count.
    var hasChange = false
    /// An earlier one of its account is not done.
    var hasPredecessor = false
    /// Later ones of its key wait for it.
    var holdsKey = false

    /// Brokers have held it up since then, or since it was taken.
    mutating func putOff(since: Instant, to now: Instant) {
        taken = taken < since ? taken.advanced(nanoseconds: now.nanoseconds(since: since)) : now
    }
}

/// The entries of a shard, in memory that is allocated once.
struct EntryTable: ~Copyable {
    private let entries: UnsafeMutablePointer<Entry>
    /// The keys of accounts: a fixed place for each entry, and the few that are longer.
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

    @inline(__always)
    subscript(index: UInt32) -> Entry {
        unsafeAddress { UnsafePointer(entries + Int(index)) }
        unsafeMutableAddress { entries + Int(index) }
    }

    /// 0 when there is no room.
    mutating func insert(bytes: Int) -> UInt32 {
        let index = firstFree
        guard index != 0 else { return 0 }
        firstFree = entries[Int(index)].next
        let generation = entries[Int(index)].generation
        entries[Int(index)] = Entry()
        entries[Int(index)].generation = generation
        entries[Int(index)].state = .waiting
        entries[Int(index)].byteCount = Int32(clamping: bytes)
        count += 1
        byteCount += Int(entries[Int(index)].byteCount)
        return index
    }

    /// From now on it takes so much more.
    mutating func add(bytes: Int, to index: UInt32) {
        let before = entries[Int(index)].byteCount
        entries[Int(index)].byteCount = Int32(clamping: Int(before) + bytes)
        byteCount += Int(entries[Int(index)].byteCount - before)
    }

    /// Messages that wait count as taken so much later, since none could run since then.
    mutating func putOff(since: Instant, to now: Instant) {
        for index in 1...capacity where entries[index].state == .waiting {
            entries[index].putOff(since: since, to: now)
        }
    }

    mutating func remove(_ index: UInt32) {
        precondition(entries[Int(index)].state != .free, "an entry is freed once")
        if !longNames.isEmpty { longNames[index] = nil }
        byteCount -= Int(entries[Int(index)].byteCount)
        count -= 1
        entries[Int(index)].state = .free
        entries[Int(index)].generation &+= 1
        entries[Int(index)].next = firstFree
        firstFree = index
    }

    private static let changeBit: UInt64 = 1 << 63

    /// What travels with the entry's output. Never 0.
    func tag(of index: UInt32) -> UInt64 {
        UInt64(entries[Int(index)].generation & 0x7FFF_FFFF) << 32 | UInt64(index)
    }

    /// nil where the entry has been freed since.
    func index(ofTag tag: UInt64) -> UInt32? {
        let index = UInt32(truncatingIfNeeded: tag)
        guard index > 0, Int(index) <= capacity, entries[Int(index)].state != .free,
            UInt32(truncatingIfNeeded: tag >> 32) == entries[Int(index)].generation & 0x7FFF_FFFF
        else { return nil }
        return index
    }

    /// The tag of a changelog record: the number of a change, and of its partition.
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

    /// The changelog's key of the entry's account.
    func appendName(of index: UInt32, to bytes: inout [UInt8]) {
        if !longNames.isEmpty, let name = longNames[index] { return bytes.append(contentsOf: name) }
        let place = names + Int(index) * Self.nameStride
        let length = Int(place.load(as: UInt8.self))
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: place + 1, count: length))
    }
}
