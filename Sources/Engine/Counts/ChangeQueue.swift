import PushmillStages
import PushmillStores

/// Settled counts of one partition on their way to the changelog, in the order in which they were settled. Keys stand one
/// behind the other in one buffer. Where a record was not stored, it is published again, alone, and then all behind it,
/// stored or not: so an account's last record in the log is its highest.
struct ChangeQueue {
    struct Change {
        let account: AccountHash
        let state: CountState
        /// Of the event that was counted, in milliseconds since 1970.
        let timestamp: Int64
        /// It says what is known anyway, and is no event's.
        let isRewrite: Bool
        fileprivate var isStored = false
        /// Where the changelog has it; negative where brokers did not say, as of a record that they had already.
        fileprivate(set) var storedAt: Int64 = -1
        /// The timestamp that its record has; -1 where the client chose it.
        fileprivate(set) var recordTime: Int64 = -1
        fileprivate let keyLength: Int32
        fileprivate var keyStart: Int
    }

    private static let shortestPause = 50
    private static let patience = Duration.seconds(1)

    private var list: [Change] = []
    private var keys: [UInt8] = []
    /// The changes before this index have been popped.
    private var first = 0
    /// The index of the first change that is not published.
    private var next = 0
    /// The number of the first of `list`. The numbers go on where all is removed, so that a late answer finds nothing.
    private var sequence: UInt32 = 0
    private var unanswered = 0
    /// So many may be on their way: half of those of which brokers have refused one, perhaps for its batch's size.
    private var most = Int.max
    /// How many changes the changelog is not known to have.
    private(set) var unstored = 0
    /// Rewrites that are here, stored or not.
    private(set) var rewrites = 0
    /// When the changelog took one last, or the first began to wait.
    private var waitsSince = Instant.past

    /// The first that was not stored, until all that is on its way is answered.
    private var failed: Int?
    /// The next is one that was not stored: nothing else is published before it is.
    private var isAlone = false
    private var failures = 0
    private var pausedUntil = Instant.past
    /// Brokers have refused one, perhaps for its time: the next ones carry their events' instead of this machine's, or
    /// this machine's again.
    private var wasRefused = false
    private(set) var carriesEventTime = false

    /// The timestamp of the first event whose change is still here.
    var timestamp: Int64? { first < list.count ? list[first].timestamp : nil }

    mutating func add(
        _ account: AccountHash, _ state: CountState, isRewrite: Bool = false, timestamp: Int64, now: Instant,
        appendKey: (inout [UInt8]) -> Void
    ) {
        if unstored == 0 { waitsSince = now }
        let start = keys.count
        appendKey(&keys)
        list.append(
            Change(
                account: account, state: state, timestamp: timestamp, isRewrite: isRewrite,
                keyLength: Int32(keys.count - start), keyStart: start))
        unstored += 1
        if isRewrite { rewrites += 1 }
    }

    /// The changelog has taken none for so long that nothing is to wait for this partition's.
    func isLate(_ now: Instant) -> Bool { unstored > 0 && now > waitsSince + Self.patience }

    /// When the next may be published; nil where there is none, or an answer must come first.
    var due: Instant? {
        guard next < list.count, failed == nil, unanswered < most, !isAlone || unanswered == 0 else { return nil }
        return pausedUntil
    }

    /// The next to be published is a rewrite.
    var isRewriteNext: Bool { next < list.count && list[next].isRewrite }

    /// The next to be published, and its number.
    func nextUnpublished(_ now: Instant) -> (sequence: UInt32, change: Change)? {
        guard let due, due <= now else { return nil }
        return (sequence &+ UInt32(next), list[next])
    }

    func withKey<Result>(of change: Change, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        keys.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[change.keyStart..<change.keyStart + Int(change.keyLength)]))
        }
    }

    /// The next was published, in a record with this timestamp.
    mutating func published(at timestamp: Int64) {
        list[next].recordTime = timestamp > 0 ? timestamp : -1
        next += 1
        unanswered += 1
    }

    /// One that was published and not answered; nil for the number of one that has gone.
    subscript(sequence: UInt32) -> Change? {
        let index = Int(sequence &- self.sequence)
        return index >= first && index < next ? list[index] : nil
    }

    /// The changelog has this change, which is still here. True when others waited for that.
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

    /// The changelog has not stored this change, which is still here.
    mutating func failed(_ sequence: UInt32, isRefused: Bool, _ now: Instant) {
        // The others of the batch are told of one after the other. What is refused alone is no batch.
        if isRefused, !wasRefused, unanswered > 1 { most = min(most, unanswered) / 2 }
        unanswered -= 1
        let index = Int(sequence &- self.sequence)
        failed = min(failed ?? index, index)
        if isRefused { wasRefused = true }
        _ = endFailure(now)
    }

    /// False where there was none, or more is to be answered.
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

    /// Takes out the first, once the changelog has it.
    mutating func popStored() -> Change? {
        guard first < next, list[first].isStored else { return nil }
        let change = list[first]
        if change.isRewrite { rewrites -= 1 }
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

    /// What was counted has come to nothing. What only says again what is known is to be published once more.
    mutating func removeCounted(now: Instant) {
        let former = self
        removeAll()
        for change in former.list[former.first...] where change.isRewrite {
            former.withKey(of: change) { key in
                add(change.account, change.state, isRewrite: true, timestamp: change.timestamp, now: now) {
                    $0.append(contentsOf: key)
                }
            }
        }
    }
}
