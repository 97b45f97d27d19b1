import PushmillStages
import PushmillStores

/// Settled counts of one partition on their way to the changelog, in the order in which they were settled. Their keys
/// are concatenated in one buffer. If a record was not stored, it is published again, alone, and then all after it,
/// stored or not: thus an account's last record in the log is its highest.
struct ChangeQueue {
    enum Origin {
        /// An event, which is done when the changelog has its count.
        case event
        /// A mark in the input's log: its record may be in flight again.
        case mark
        /// What is known is written again.
        case rewrite
    }

    struct Change {
        let account: AccountHash
        let state: CountState
        /// The timestamp of the counted event, in milliseconds since 1970.
        let timestamp: Int64
        let origin: Origin
        fileprivate var isStored = false
        /// Its offset in the changelog; negative if brokers did not say, as for a record that they already had.
        fileprivate(set) var storedAt: Int64 = -1
        /// The timestamp of its record; -1 if the client chose it.
        fileprivate(set) var recordTime: Int64 = -1
        fileprivate let keyLength: Int32
        fileprivate var keyStart: Int
    }

    private static let shortestPause = 50
    /// In nanoseconds: adding a duration divides 128 bits.
    private static var patience: UInt64 { 1_000_000_000 }

    private var list: [Change] = []
    private var keys: [UInt8] = []
    /// The changes before this index have been popped.
    private var first = 0
    /// The index of the first change that is not published.
    private var next = 0
    /// The number of the first element of `list`. Numbers continue after `removeAll`, so a late report matches nothing.
    private var sequence: UInt32 = 0
    private var unanswered = 0
    /// How many changes may be in flight. A refusal sets it to half of those that were: their batch may be too large.
    private var most = Int.max
    /// How many changes the changelog is not known to have.
    private(set) var unstored = 0
    /// Rewrites in the queue, stored or not.
    private(set) var rewrites = 0
    /// When the changelog last stored a change, or when the first began to wait.
    private var waitsSince = Instant.past

    /// The index of the first change that was not stored, until everything in flight is answered.
    private var failed: Int?
    /// The next change is one that was not stored: nothing else is published until it is stored.
    private var isAlone = false
    private var failures = 0
    private var pausedUntil = Instant.past
    /// Brokers refused a change, perhaps for its timestamp: the next records switch from this machine's time to that of
    /// their events, or back.
    private var wasRefused = false
    private(set) var carriesEventTime = false

    /// The timestamp of the first event whose change is still in the queue.
    var timestamp: Int64? { first < list.count ? list[first].timestamp : nil }

    mutating func add(
        _ account: AccountHash, _ state: CountState, _ origin: Origin, timestamp: Int64, now: Instant,
        appendKey: (inout [UInt8]) -> Void
    ) {
        if unstored == 0 { waitsSince = now }
        let start = keys.count
        appendKey(&keys)
        list.append(
            Change(
                account: account, state: state, timestamp: timestamp, origin: origin,
                keyLength: Int32(keys.count - start), keyStart: start))
        unstored += 1
        if origin == .rewrite { rewrites += 1 }
    }

    /// The changelog has stored nothing for so long that nothing else waits for this partition's changes.
    func isLate(_ now: Instant, after patience: UInt64 = Self.patience) -> Bool {
        unstored > 0 && now > waitsSince.advanced(nanoseconds: patience)
    }

    /// When the next change may be published; nil if there is none, or if a report must come first.
    var due: Instant? {
        guard next < list.count, failed == nil, unanswered < most, !isAlone || unanswered == 0 else { return nil }
        return pausedUntil
    }

    var isRewriteNext: Bool { next < list.count && list[next].origin == .rewrite }

    /// The next change to publish and its number; nil if none is due.
    func nextUnpublished(_ now: Instant) -> (sequence: UInt32, change: Change)? {
        guard let due, due <= now else { return nil }
        return (sequence &+ UInt32(next), list[next])
    }

    func withKey<Result>(of change: Change, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        keys.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[change.keyStart..<change.keyStart + Int(change.keyLength)]))
        }
    }

    /// The next change was published, in a record with this timestamp.
    mutating func published(at timestamp: Int64) {
        list[next].recordTime = timestamp > 0 ? timestamp : -1
        next += 1
        unanswered += 1
    }

    /// The published change with this number; nil if it was popped or removed.
    subscript(sequence: UInt32) -> Change? {
        let index = Int(sequence &- self.sequence)
        return index >= first && index < next ? list[index] : nil
    }

    /// The changelog has stored this change, which must still be in the queue. True if others waited for that.
    mutating func stored(_ sequence: UInt32, at offset: Int64, now: Instant) -> Bool {
        let othersWaited = isAlone || unanswered >= most
        unanswered -= 1
        unstored -= 1
        waitsSince = now
        list[Int(sequence &- self.sequence)].isStored = true
        list[Int(sequence &- self.sequence)].storedAt = offset
        (isAlone, failures, pausedUntil) = (false, 0, .past)
        return endFailure(.past) || othersWaited
    }

    /// The changelog has not stored this change, which must still be in the queue.
    mutating func failed(_ sequence: UInt32, isRefused: Bool, _ now: Instant) {
        // Only a batch's first refusal halves the bound: the rest is reported one by one. One alone is no batch.
        if isRefused, !wasRefused, unanswered > 1 { most = min(most, unanswered) / 2 }
        unanswered -= 1
        let index = Int(sequence &- self.sequence)
        failed = min(failed ?? index, index)
        if isRefused { wasRefused = true }
        _ = endFailure(now)
    }

    /// False if nothing has failed, or if reports are outstanding.
    private mutating func endFailure(_ now: Instant) -> Bool {
        guard unanswered == 0, let again = failed.take() else { return false }
        for index in again..<next where list[index].isStored {
            list[index].isStored = false
            unstored += 1
        }
        next = again
        isAlone = true
        pausedUntil = now + .milliseconds(Self.shortestPause << min(failures, 5))
        failures += 1
        changeTime()
        return true
    }

    private mutating func changeTime() {
        if wasRefused, !PlantedFault.isPlanted(.clockAheadAbortsForEver) { carriesEventTime.toggle() }
        wasRefused = false
    }

    /// Removes the first change if the changelog has stored it.
    mutating func popStored() -> Change? {
        guard first < next, list[first].isStored else { return nil }
        let change = list[first]
        if change.origin == .rewrite { rewrites -= 1 }
        first += 1
        if first == list.count || first > 1024 && first * 2 > list.count { shift() }
        return change
    }

    private mutating func shift() {
        let start = first < list.count ? list[first].keyStart : keys.count
        keys.removeFirst(start)
        list.removeFirst(first)
        for index in list.indices { list[index].keyStart -= start }
        sequence &+= UInt32(first)
        next -= first
        if let failed { self.failed = failed - first }
        first = 0
    }

    mutating func removeAll() {
        sequence &+= UInt32(list.count)
        list.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        (first, next, unanswered, unstored, rewrites) = (0, 0, 0, 0, 0)
        (failed, isAlone, failures, pausedUntil) = (nil, false, 0, .past)
        changeTime()
    }

    /// Drops the counts of aborted events. Rewrites are to be published again.
    mutating func removeCounted(now: Instant) {
        let former = self
        removeAll()
        for change in former.list[former.first...] where change.origin == .rewrite {
            former.withKey(of: change) { key in
                add(change.account, change.state, .rewrite, timestamp: change.timestamp, now: now) {
                    $0.append(contentsOf: key)
                }
            }
        }
    }
}
