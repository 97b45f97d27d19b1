package import Dispatch
import Glibc
import PushmillPayload
import Synchronization

/// Threads for stages that may wait. A stage that suspends gives its thread back; a stage that blocks keeps it and
/// cannot be stopped. On Swift's own pool, which has as many threads as cores, one such stage per core would hold up
/// all others. So there are normally as many threads as cores, and more, up to `limit`, once jobs have waited for
/// `patience`. One thread per job would mean a thousand for a burst of short jobs. At the limit, jobs wait, and
/// messages leave at their deadline without the stage.
public final class StageThreads: TaskExecutor {
    public static let shared = StageThreads()

    /// How long a job waits before another thread is started.
    private static let patience = DispatchTimeInterval.milliseconds(2)

    private struct State {
        /// Waiting jobs, in order, from `next` on.
        var jobs: [UnownedJob] = []
        var next = 0
        var threads = 0
        /// Threads that run no job.
        var idle = 0
        /// The number of jobs that have ever begun.
        var begun = 0
        /// A check for waiting jobs is scheduled.
        var isWatched = false

        var waiting: Int { jobs.count - next }
        /// Waiting jobs that no idle thread can take.
        var lacking: Int { waiting - idle }

        mutating func take() -> UnownedJob? {
            guard next < jobs.count else { return nil }
            let job = jobs[next]
            next += 1
            begun += 1
            if next == jobs.count || next >= 1024 {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }
    }

    private let usual: Int
    private let limit: Int
    /// How long a thread waits for another job before it ends.
    private let idleTime: DispatchTimeInterval
    private let state = Mutex(State())
    /// Signaled once for each job.
    private let arrivals = DispatchSemaphore(value: 0)
    private let watch = DispatchQueue(label: "pushmill.stages.watch")

    /// `usual` threads, by default as many as cores, exist while nothing blocks; `limit` is the most there ever are.
    package init(usual: Int? = nil, limit: Int = 512, idleTime: DispatchTimeInterval = .seconds(10)) {
        self.usual = min(usual ?? Processors.usable, limit)
        self.limit = limit
        self.idleTime = idleTime
    }

    /// The current number of threads.
    public var count: Int { state.withLock { $0.threads } }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isStarted, isWatched) = state.withLock { state in
            state.jobs.append(job)
            guard state.lacking > 0, state.threads < limit else { return (false, false) }
            if state.threads < usual {
                state.threads += 1
                return (true, false)
            }
            defer { state.isWatched = true }
            return (false, !state.isWatched)
        }
        arrivals.signal()
        if isStarted { startThread() }
        if isWatched { lookLater() }
    }

    // MARK: - More threads

    private func lookLater() {
        let (came, begun) = state.withLock { ($0.begun + $0.waiting, $0.begun) }
        watch.asyncAfter(deadline: .now() + Self.patience) { self.look(came, begun) }
    }

    /// Takes how many jobs had arrived, and how many of them had begun, when this check was scheduled.
    private func look(_ came: Int, _ begun: Int) {
        let (more, goesOn) = state.withLock { state -> (Int, Bool) in
            guard state.lacking > 0, state.threads < limit else {
                state.isWatched = false
                return (0, false)
            }
            // The oldest waiting job arrived since then.
            guard state.begun < came else { return (0, true) }
            // If no job has begun since, every thread is blocked, and adding one thread at a time would take too long.
            let wanted = state.begun == begun ? min(state.lacking, max(1, state.threads)) : 1
            let more = min(wanted, limit - state.threads)
            state.threads += more
            return (more, true)
        }
        for _ in 0..<more { startThread() }
        if goesOn { lookLater() }
    }

    /// Starts one more thread, which `State.threads` already includes. If the system has none left, the existing
    /// threads go on and another check is scheduled: without any thread, jobs would wait until the next one arrives.
    private func startThread() {
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<StageThreads>.fromOpaque(context).takeRetainedValue().serve() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            let isWatched = state.withLock { state in
                state.threads -= 1
                defer { state.isWatched = true }
                return !state.isWatched
            }
            if isWatched { lookLater() }
            return
        }
        pthread_detach(thread)
    }

    // MARK: - A thread's life

    private func serve() {
        state.withLock { $0.idle += 1 }
        while true {
            guard arrivals.wait(timeout: .now() + idleTime) == .success else {
                if endsIdle() { return }
                continue
            }
            let job = state.withLock { state in
                let job = state.take()
                if job != nil { state.idle -= 1 }
                return job
            }
            guard let job else { continue }
            job.runSynchronously(on: asUnownedTaskExecutor())
            state.withLock { $0.idle += 1 }
        }
    }

    /// False if a job arrived at the last moment.
    private func endsIdle() -> Bool {
        state.withLock { state in
            guard state.waiting < state.idle else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
    }
}
