/// The file behind the counts of one partition. A copy of the changelog: it may be lost at any time, but never wrong.
package protocol CountDisk: AnyObject {
    /// The changelog's record up to which it has everything; nil where it has nothing.
    var position: ChangelogPosition? { get }

    /// The highest of all states that were ever written since it was begun, by incarnation and offset.
    var highest: CountState? { get }

    /// Calls the body for each of the accounts that is there, all in one transaction. False when the file cannot be read.
    func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool

    /// Keeps counts and position together or not at all. The accounts are sorted, each is there once. A nil position keeps
    /// the one before. False when that failed: to be tried again, or begun anew.
    func write(_ rows: [(account: AccountHash, state: CountState)], at position: ChangelogPosition?) -> Bool

    /// Forgets everything.
    func clear() -> Bool
}

/// Who is counted: a hash of the changelog's key with a secret of the state folder's own. Tables rely on its bits being
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
    /// What a state can be, so that an account takes 32 bytes of memory.
    public static let highestIncarnation: UInt32 = 1 << 12 - 1
    public static let highestOffset: Int64 = 1 << 46 - 2

    public var count: Int32
    /// Grows each time that the partition's log is made anew: offsets of an earlier one say nothing.
    public var incarnation: UInt32
    /// Of the last event counted; -1 where that is not known.
    public var offset: Int64

    public init(count: Int32, incarnation: UInt32 = 0, offset: Int64 = -1) {
        self.count = count
        self.incarnation = incarnation
        self.offset = offset
    }

    /// By the event alone: two that come of the same event are equally late.
    public static func < (left: CountState, right: CountState) -> Bool {
        left.incarnation != right.incarnation
            ? left.incarnation < right.incarnation : left.offset < right.offset
    }
}

/// A record of the changelog; the timestamp tells it from one of another log at the same offset.
package struct ChangelogPosition: Hashable, Sendable {
    package let partition: Int32
    package let offset: Int64
    package let timestamp: Int64

    package init(partition: Int32, offset: Int64, timestamp: Int64 = -1) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
    }
}
