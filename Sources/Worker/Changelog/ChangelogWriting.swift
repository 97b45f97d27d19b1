import Push
import Stores
import Telemetry

/// What the changelog's thread does with commits: gathers them, and writes the latest counts from time to time. What a
/// crash loses of that is read from the changelog again.
struct ChangelogWriting {
    private static let interval = Duration.seconds(1)
    private static let looksEvery = Duration.seconds(60)
    /// Accounts that are written at once, not at the next time.
    private static let limit = 50_000

    /// When something is to be written.
    private(set) var due = Instant.never
    /// Partitions whose counts are whole.
    private var served: Set<Int32> = []
    private var pending = PendingCounts()
    private var lastCommit: UInt32 = 0
    private var nextLook = Instant.past
    private let folding: JournalProgress

    init(_ folding: JournalProgress) { self.folding = folding }

    mutating func serve(_ partition: Int32) {
        served.insert(partition)
        due = min(due, TimeSource.system.now + Self.interval)
    }

    mutating func add(_ changes: CountChanges, _ last: [RecordPosition], number: UInt32) {
        pending.add(changes, upTo: last)
        lastCommit = number
        let now = TimeSource.system.now
        due = pending.count >= Self.limit || folding.takeWish() ? now : min(due, now + Self.interval)
    }

    /// Nothing that was committed of them before is written from now on.
    mutating func forget(_ partitions: [Int32]) {
        for partition in partitions {
            served.remove(partition)
            pending.remove(partition)
        }
    }

    /// Writes everything that was committed. When it throws it is all there for the next time.
    mutating func write(to store: borrowing ChangelogCounts) throws(StoreError) {
        let now = TimeSource.system.now
        due = now + Self.interval
        if !pending.isEmpty {
            try store.save(pending, now: SystemTime.milliseconds)
            pending.removeAll()
        }
        folding.foldedThrough = lastCommit
        if now >= nextLook {
            try store.see(served, now: SystemTime.milliseconds)
            nextLook = now + Self.looksEvery
        }
        due = served.isEmpty ? .never : nextLook
    }
}
