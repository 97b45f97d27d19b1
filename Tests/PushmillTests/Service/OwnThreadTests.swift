import Dispatch
import FoundationEssentials
import Testing

@testable import Pushmill

@Suite("Blocking work")
struct OwnThreadTests {
    /// One more than the number of threads that tasks have.
    private static let count = ProcessInfo.processInfo.processorCount + 1

    @Test("Blocking work delays no task, however few processors there are", .timeLimit(.minutes(1)))
    func blocks() async throws {
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.count {
                group.addTask { try await onOwnThread("test") { gate.wait() } }
            }
            group.addTask { for _ in 0..<Self.count { gate.signal() } }
            try await group.waitForAll()
        }
    }
}
