import PushmillPayload
import Synchronization

/// One stage's work on one message, run by the pool. It is all that the pool and the delivery's thread share: either
/// the stage ends first and the thread takes its end, or the thread abandons it first and its end is dropped.
public final class StageWork: Sendable {
    struct End: Sendable {
        let result: Result<StageResult, any Error>
        let content: NotificationContent
        /// How long the stage took; 0 if not measured.
        let nanoseconds: UInt64
    }

    private enum State: Sendable {
        /// Holds the record's bytes. Work that never gets a thread may wait forever, so abandoned work holds none.
        case ready(NotificationContent, StageContext)
        case running
        case ended(End)
        /// The end was taken, or the stage was abandoned.
        case over
    }

    private struct Shared: Sendable {
        var state: State
        var task: Task<Void, Never>?
    }

    /// The tag of the delivery.
    public let tag: Int
    private let chain: Chain
    private let stage: Int
    let begin: Instant
    private let shared: Mutex<Shared>

    init(_ tag: Int, _ content: NotificationContent, _ context: StageContext, begin: Instant) {
        self.tag = tag
        chain = context.chain
        stage = context.stage
        self.begin = begin
        shared = Mutex(Shared(state: .ready(content, context)))
    }

    /// Runs the stage. False if it was abandoned: then the pool's `onEnd` is not called.
    package func run() async -> Bool {
        guard case (var content, let context)? = takeInput() else {
            chain.observer?.abandonedStageEnded(stage)
            return false
        }
        let result: Result<StageResult, any Error>
        do {
            result = .success(try await chain.links[stage].stage.didReceive(&content, context: context))
        } catch {
            result = .failure(error)
        }
        let end = End(result: result, content: content, nanoseconds: chain.time.now.nanoseconds(since: begin))
        let isInTime = shared.withLock { shared in
            guard case .running = shared.state else { return false }
            shared = Shared(state: .ended(end))
            return true
        }
        if !isInTime { chain.observer?.abandonedStageEnded(stage) }
        return isInTime
    }

    private func takeInput() -> (NotificationContent, StageContext)? {
        shared.withLock { shared in
            guard case .ready(let content, let context) = shared.state else { return nil }
            shared.state = .running
            return (content, context)
        }
    }

    /// Sets the task that runs the stage; it is canceled when the stage is abandoned.
    func set(_ task: Task<Void, Never>) {
        let isOver = shared.withLock { shared in
            switch shared.state {
            case .ready, .running: shared.task = task
            case .ended: break
            case .over: return true
            }
            return false
        }
        if isOver { task.cancel() }
    }

    /// Nil until the stage has ended, and after its end was taken.
    func takeEnd() -> End? {
        shared.withLock { shared in
            guard case .ended(let end) = shared.state else { return nil }
            shared.state = .over
            return end
        }
    }

    /// False if the stage has already ended.
    func abandon() -> Bool {
        let (isRunning, task) = shared.withLock { shared -> (Bool, Task<Void, Never>?) in
            switch shared.state {
            case .ready, .running:
                defer { shared = Shared(state: .over) }
                return (true, shared.task)
            case .ended, .over: return (false, nil)
            }
        }
        task?.cancel()
        return isRunning
    }
}

/// Runs stages that may wait, away from the thread that has their messages, each in its own task.
public struct StagePool: Sendable {
    private let threads: StageThreads
    private let onEnd: @Sendable (Int) -> Void

    /// `onEnd` is called on any thread with the tag of a delivery whose stage has ended without being abandoned. The
    /// owner then calls `Chain.resume` on the delivery's own thread.
    public init(on threads: StageThreads = .shared, onEnd: @escaping @Sendable (_ tag: Int) -> Void) {
        self.threads = threads
        self.onEnd = onEnd
    }

    /// Runs the work of a `Chain.Step.suspended`, once.
    public func start(_ work: StageWork) {
        let task = Task(executorPreference: threads) { [onEnd] in
            if await work.run() { onEnd(work.tag) }
        }
        work.set(task)
    }
}
