import Push
import Synchronization

/// What others may know of a lane while its thread is at work.
final class LaneWatch: Sendable {
    private struct Waiting {
        let carrier: Carrier
        let deadline: Instant
    }

    private let waiting = Mutex<Waiting?>(nil)
    /// When the thread took up what it is at, in nanoseconds; 0 when it waits for work.
    private let busySince = Atomic<UInt64>(0)

    func begin(_ now: Instant) { busySince.store(now.nanoseconds, ordering: .relaxed) }

    func end() { busySince.store(0, ordering: .relaxed) }

    /// How long the thread has been at one thing.
    func busy(_ now: Instant) -> Duration {
        let since = busySince.load(ordering: .relaxed)
        guard since != 0 else { return .zero }
        return .nanoseconds(Int64(clamping: now.nanoseconds(since: Instant(nanoseconds: since))))
    }

    /// A stage that may block the thread is about to run.
    func expect(_ carrier: Carrier, until deadline: Instant) {
        waiting.withLock { $0 = Waiting(carrier: carrier, deadline: deadline) }
    }

    func clear() { waiting.withLock { $0 = nil } }

    /// The message whose deadline has come while its stage still has the thread.
    func overdue(_ now: Instant) -> Carrier? {
        waiting.withLock { waiting in
            guard let found = waiting, found.deadline <= now else { return nil }
            waiting = nil
            return found.carrier
        }
    }
}
