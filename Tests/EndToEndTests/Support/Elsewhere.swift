import Synchronization
import PushmillTelemetry

/// Runs a blocking body on a thread of its own: the tests' pool has one thread per core and no more.
func elsewhere<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    let thread = Mutex<Thread?>(nil)
    defer { thread.withLock { $0.take() }?.join() }
    return try await withCheckedThrowingContinuation { continuation in
        do {
            let started = try Thread(named: "test") { continuation.resume(with: Swift.Result { try body() }) }
            thread.withLock { $0 = started }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
