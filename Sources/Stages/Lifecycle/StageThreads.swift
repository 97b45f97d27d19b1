package import Dispatch
import Glibc
import PushmillPayload
import Synchronization

/// Threads for stages that may wait. One that suspends gives its thread back; one that blocks keeps it and cannot be
/// stopped: on Swift's own pool, which has as many threads as cores, two such would hold up every other stage. So there
/// are as many as cores while all goes well, and more, up to `limit`, where jobs have waited for `patience`. One for
/// each job at once would be a thousand for a burst of short ones. At the limit jobs wait, and messages leave at their
/// deadline, without the stage.
public final class StageThreads: TaskExecutor {
    public static let shared = StageThreads()

    /// How long a job waits before another thread is started.
    private static let patience = DispatchTimeInterval.milliseconds(2)

    private struct State {
        /// In their order from `next` on.
        var jobs: [UnownedJob] = []
        var next = 0
        var threads = 0
        /// Those of them that run no job.
        var idle = 0
        /// Jobs that have ever begun.
        var begun = 0
        /// Somebody looks again soon whether jobs wait.
        var isWatched = false

        var waiting: Int { jobs.count - next }
        /// Jobs for which no thread is at hand.
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
    /// How long a thread waits for another job.
    private let idleTime: DispatchTimeInterval
    private let state = Mutex(State())
    /// One for each job.
    private let arrivals = DispatchSemaphore(value: 0)
    private let watch = DispatchQueue(label: "pushmill.stages.watch")

    /// `usual`: while nothing blocks; as many as cores unless given. `limit`: the most that there ever are.
    package init(usual: Int? = nil, limit: Int = 512, idleTime: DispatchTimeInterval = .seconds(10)) {
        self.usual = min(usual ?? Processors.usable, limit)
        self.limit = limit
        self.idleTime = idleTime
    }

    /// How many there are now.
    public var count: Int { state.withLock { $0.threads } }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isStarted, isWatched) = state.withLock { state in
            state.jobs.append(job)
            guard state.lacking > 0 else { return (false, false) }
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

    /// How many had come and how many had begun by the look before this one.
    private func look(_ came: Int, _ begun: Int) {
        let (more, goesOn) = state.withLock { state -> (Int, Bool) in
            guard state.lacking > 0 else {
                state.isWatched = false
                return (0, false)
            }
            // The oldest has come since.
            guard state.begun < came else { return (0, true) }
            // Where nothing at all has begun, everything blocks, and one thread after the other would take too long.
            let wanted = state.begun == begun ? min(state.lacking, max(1, state.threads)) : 1
            let more = min(wanted, limit - state.threads)
            state.threads += more
            return (more, true)
        }
        for _ in 0..<more { startThread() }
        if goesOn { lookLater() }
    }

    /// One more, which has been counted already. Where the system has none left, those that there are go on, and jobs that
    /// lack one are looked after: without any thread they would wait for the next job to come.
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

    /// False where a job has come at the last moment.
    private func endsIdle() -> Bool {
        state.withLock { state in
            guard state.waiting < state.idle else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
    }
}
