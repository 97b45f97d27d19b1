import Synchronization

/// A value that other threads change and tests wait for.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State: Sendable {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var count = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    func change(_ body: (inout Value) -> Void) {
        let met = state.withLock { state in
            body(&state.value)
            let met = state.waiters.filter { $0.value.isMet(state.value) }
            for number in met.keys { state.waiters[number] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume(returning: true) }
    }

    /// Throws `Overdue` if the condition is not met within the limit. Checks it under a lock, at every change.
    func wait(
        for what: String, within limit: Duration = .seconds(60), until isMet: @escaping @Sendable (Value) -> Bool
    ) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
        defer { timer.cancel() }
        let isIn = await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard !isMet(state.value) else { return true }
                state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                return false
            }
            if isMet { continuation.resume(returning: true) }
        }
        guard isIn else { throw Overdue(what: what, limit: limit) }
    }
}

struct Overdue: Error, CustomStringConvertible {
    let what: String
    let limit: Duration

    var description: String { "still waiting for \(what) after \(limit)" }
}
