import Synchronization

/// A single event that one side waits for and the other lets happen, in either order.
final class Gate: Sendable {
    private enum State {
        case closed([CheckedContinuation<Void, Never>])
        case open
    }

    private let state = Mutex(State.closed([]))

    func open() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            defer { state = .open }
            guard case .closed(let waiting) = state else { return [] }
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Ignores cancellation.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                guard case .closed(let waiting) = state else { return true }
                state = .closed(waiting + [continuation])
                return false
            }
            if isOpen { continuation.resume() }
        }
    }
}
