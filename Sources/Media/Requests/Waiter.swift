import Synchronization

/// A message that waits for a result; gets one exactly once.
final class Waiter: Sendable {
    private enum State {
        case new
        case waiting(UnsafeContinuation<FetchResult, Never>)
        case ended(FetchResult)
    }

    private let state = Mutex(State.new)

    /// Once.
    func wait(_ continuation: UnsafeContinuation<FetchResult, Never>) {
        let result = state.withLock { state -> FetchResult? in
            if case .ended(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let result { continuation.resume(returning: result) }
    }

    /// What comes after the first is dropped.
    func end(_ result: FetchResult) {
        let continuation = state.withLock { state -> UnsafeContinuation<FetchResult, Never>? in
            switch state {
            case .new: state = .ended(result)
            case .ended: break
            case .waiting(let continuation):
                state = .ended(result)
                return continuation
            }
            return nil
        }
        continuation?.resume(returning: result)
    }
}
