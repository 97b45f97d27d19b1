import Push
import Synchronization

/// What others may know of a lane while its thread is at work.
final class LaneWatch: Sendable {
    private struct Waiting {
        let carrier: Carrier
        let deadline: Instant
    }

    private struct State {
        /// The message that the thread is at.
        var running: Waiting?
        /// Those that have stepped aside.
        var suspended: [ObjectIdentifier: Waiting] = [:]
    }

    /// At one thing for so long, a thread is not going to see to its deadlines in time.
    private static let patience = Duration.milliseconds(20)

    private let state = Mutex(State())
    /// When the thread took up what it is at, in nanoseconds; 0 when it waits for work.
    private let busySince = Atomic<UInt64>(0)

    func begin(_ now: Instant) { busySince.store(now.nanoseconds, ordering: .relaxed) }

    func end() {
        state.withLock { $0.running = nil }
        busySince.store(0, ordering: .relaxed)
    }

    /// How long the thread has been at one thing.
    func busy(_ now: Instant) -> Duration {
        let since = busySince.load(ordering: .relaxed)
        guard since != 0 else { return .zero }
        return .nanoseconds(Int64(clamping: now.nanoseconds(since: Instant(nanoseconds: since))))
    }

    /// A stage that may block the thread is about to run.
    func expect(_ carrier: Carrier, until deadline: Instant) {
        let waiting = Waiting(carrier: carrier, deadline: deadline)
        state.withLock { state in
            if carrier.isSuspended {
                state.suspended[ObjectIdentifier(carrier)] = waiting
            } else {
                state.running = waiting
            }
        }
    }

    // MARK: Messages that have stepped aside

    func add(_ carrier: Carrier, until deadline: Instant) {
        state.withLock { $0.suspended[ObjectIdentifier(carrier)] = Waiting(carrier: carrier, deadline: deadline) }
    }

    func remove(_ carrier: Carrier) { state.withLock { $0.suspended[ObjectIdentifier(carrier)] = nil } }

    func contains(_ carrier: Carrier) -> Bool { state.withLock { $0.suspended[ObjectIdentifier(carrier)] != nil } }

    var suspended: [Carrier] { state.withLock { $0.suspended.values.map(\.carrier) } }

    /// Messages whose deadline has come while a stage has the thread, each until it has left.
    func overdue(_ now: Instant) -> [Carrier] {
        guard busy(now) > Self.patience else { return [] }
        return state.withLock { state in
            var found = state.suspended.values.filter { $0.deadline <= now }
            if let running = state.running, running.deadline <= now { found.append(running) }
            return found.map(\.carrier)
        }
    }
}
