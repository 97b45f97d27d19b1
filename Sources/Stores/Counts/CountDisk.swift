/// The file behind one partition's counts, a copy of the changelog: it may be lost at any time, but is never wrong.
package protocol CountDisk: AnyObject {
    /// The secret for hashing accounts: the same as long as the file or this object exists.
    var secret: AccountSecret { get }

    /// The changelog's record up to which the file has everything; nil if it has nothing.
    var position: RecordPosition? { get }

    /// The highest of all states written since the file was begun, by incarnation and offset.
    var highest: CountState? { get }

    /// How many accounts the file has.
    var rowCount: Int { get }

    /// A read or a write has found what the file has unreadable: both fail until `clear`.
    var isDamaged: Bool { get }

    /// Calls `body` for each of the accounts that the file has. They are sorted. False if the file cannot be read.
    func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool

    /// Begins to write counts and position, together or not at all, or goes on for up to `most` rows of the file. The
    /// accounts are sorted and unique, and the same in each call until all is written. A nil position keeps the
    /// previous one. After a failure the caller must try again from the start, or clear the file.
    func write(_ rows: [CountRow], at position: RecordPosition?, most: Int) -> CountWrite

    /// Gives up what `write` has begun.
    func giveUpWriting()

    /// Forgets everything.
    func clear() -> Bool
}

package enum CountWrite { case written, begun, failed }

/// An account that is counted: a hash of the changelog's key with the file's own secret. Tables rely on its bits being
/// spread evenly.
public struct AccountHash: Hashable, Sendable, Comparable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    public static func == (left: AccountHash, right: AccountHash) -> Bool {
        left.high == right.high && left.low == right.low
    }

    public static func < (left: AccountHash, right: AccountHash) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// A count and the event that led to it. Of two states of one account the later one is right, wherever it was written.
public struct CountState: Hashable, Sendable, Comparable {
    /// Upper limits of a state, so that an account takes 32 bytes of memory.
    public static let highestIncarnation: UInt32 = 1 << 12 - 1
    public static let highestOffset: Int64 = 1 << 46 - 2

    /// The offset of the last event counted; -1 if it is unknown.
    public var offset: Int64
    public var count: Int32
    /// Grows each time the partition's log is recreated: offsets of an earlier log mean nothing.
    public var incarnation: UInt32

    public init(count: Int32, incarnation: UInt32 = 0, offset: Int64 = -1) {
        self.count = count
        self.incarnation = incarnation
        self.offset = offset
    }

    /// Compares the events alone: two states from the same event are equally late.
    public static func < (left: CountState, right: CountState) -> Bool {
        left.incarnation != right.incarnation
            ? left.incarnation < right.incarnation : left.offset < right.offset
    }
}

/// An account's count. A file has it as memory does, in 32 bytes.
public struct CountRow: Sendable {
    package static let size = MemoryLayout<CountRow>.stride

    public let account: AccountHash
    public let state: CountState

    public init(_ account: AccountHash, _ state: CountState) {
        self.account = account
        self.state = state
    }
}

/// The position of a record in a compacted topic. The timestamp tells it from a record that has the same offset in a
/// log of the same name made later.
package struct RecordPosition: Hashable, Sendable {
    package let partition: Int32
    package let offset: Int64
    package let timestamp: Int64

    package init(partition: Int32, offset: Int64, timestamp: Int64 = -1) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
    }
}

/// The secret that accounts are hashed with: outsiders cannot choose keys that collide. SipHash-2-4 of 128 bits.
public struct AccountSecret: Equatable, Sendable {
    let first: UInt64
    let second: UInt64

    package static var random: AccountSecret { AccountSecret(.random(in: 0 ... .max), .random(in: 0 ... .max)) }

    public init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Hashes a key of the changelog.
    public func hash(_ key: UnsafeRawBufferPointer) -> AccountHash {
        var state = SipState(first, second)
        let whole = key.count & ~7
        var at = 0
        while at < whole {
            state.add(UInt64(littleEndian: key.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
            at += 8
        }
        var last = UInt64(truncatingIfNeeded: key.count) << 56
        while at < key.count {
            last |= UInt64(key[at]) << UInt64((at & 7) * 8)
            at += 1
        }
        state.add(last)
        return state.finish()
    }
}

/// Two rounds for each word, four at the end of each half, as in the reference.
private struct SipState {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    @inline(__always)
    init(_ k0: UInt64, _ k1: UInt64) {
        v0 = k0 ^ 0x736f_6d65_7073_6575
        v1 = k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = k0 ^ 0x6c79_6765_6e65_7261
        v3 = k1 ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    @inline(__always)
    mutating func finish() -> AccountHash {
        v2 ^= 0xee
        let first = half()
        v1 ^= 0xdd
        return AccountHash(high: first, low: half())
    }

    @inline(__always)
    private mutating func half() -> UInt64 {
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 &+= v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 &+= v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }
}
