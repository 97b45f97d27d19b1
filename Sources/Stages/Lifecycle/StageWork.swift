import PushmillPayload
import Synchronization

/// One stage at one message, on its way through the pool. It is all that the pool and the thread of the delivery share:
/// either the stage ends first and its end is taken, or the thread abandons it first and the end is dropped.
public final class StageWork: Sendable {
    struct End: Sendable {
        let result: Result<StageResult, any Error>
        let content: NotificationContent
        /// How long it took, where that is measured.
        let nanoseconds: UInt64
    }

    private enum State: Sendable {
        /// It has the record's bytes, and work that never gets a thread may wait for ever: what is abandoned has none.
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

    /// The delivery's.
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

    /// Runs the stage. False where it was abandoned: nobody is to be told.
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
        let nanoseconds = chain.settings.measuresStages ? chain.time.now.nanoseconds(since: begin) : 0
        let end = End(result: result, content: content, nanoseconds: nanoseconds)
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

    /// Whose cancellation reaches the stage.
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

    /// Nil while the stage has not ended, and after its end was taken.
    func takeEnd() -> End? {
        shared.withLock { shared in
            guard case .ended(let end) = shared.state else { return nil }
            shared.state = .over
            return end
        }
    }

    /// False where the stage has ended already.
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

/// Where stages run that may wait: beside the thread that has their messages, each in a task of its own.
public struct StagePool: Sendable {
    private let threads: StageThreads
    private let onEnd: @Sendable (Int) -> Void

    /// `onEnd` is called on any thread with the tag of a delivery whose stage has ended and was not abandoned by then:
    /// `Chain.resume` is to be called on the delivery's own thread.
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
