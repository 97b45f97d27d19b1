import Glibc
package import Testing

/// Runs each test of a suite on threads of its own: a test that waits for brokers must not block the few threads that
/// all other tests share.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: OwnThread { OwnThread() }
}

/// Starts a thread for every job.
private final class ThreadExecutor: TaskExecutor {
    private final class Work: Sendable {
        let job: UnownedJob
        let executor: ThreadExecutor

        init(_ job: UnownedJob, _ executor: ThreadExecutor) {
            self.job = job
            self.executor = executor
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let work = Unmanaged.passRetained(Work(UnownedJob(job), self))
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                work.job.runSynchronously(on: work.executor.asUnownedTaskExecutor())
                return nil
            }, work.toOpaque())
        pthread_detach(thread)
    }
}
