/// Takes messages through the stages: gate, stages, deadline, checks. It serves every lane; whoever calls a method has
/// the delivery. A verdict that is returned is to be carried out by the caller, who may then reuse the delivery; nil
/// says that the delivery is somebody else's by now.
public final class Chain: Sendable {
    public struct Settings: Sendable {
        /// From the moment a message was taken from the input.
        public var deadline = Duration.seconds(30)
        /// Whether messages that had expired before their turn are published.
        public var publishesExpired = true
        /// Whether the time that a stage takes is measured, which costs a reading of the clock for each.
        public var measuresStages = false

        public init() {}
    }

    public enum Step: Sendable, Equatable {
        case ended(Verdict)
        /// `run` is to be called.
        case run
        /// The recipient's count cannot be read now: `begin` is to be called again.
        case notYet
    }

    public enum TimerStep: Sendable, Equatable {
        case ended(Verdict)
        /// The stage has used up its budget: `run` is to be called again, in a new task, since the old one is the stage's.
        case run
        /// `nextWakeUp` has not come yet.
        case early
        /// No stage is waiting: it has returned, or another thread has the delivery.
        case nothing
    }

    /// A stage's line about one message.
    public typealias Log =
        @Sendable (_ severity: StageResources.Severity, _ stage: String, _ source: Source, _ message: String) -> Void

    public let links: [ChainLink]
    let settings: Settings
    let time: TimeSource
    let observer: (any ChainObserver)?
    let log: Log
    let counts: Bool

    public init(
        _ links: [ChainLink], settings: Settings = Settings(), time: TimeSource = .system,
        observer: (any ChainObserver)? = nil, log: @escaping Log = { _, _, _, _ in }
    ) {
        self.links = links
        self.settings = settings
        self.time = time
        self.observer = observer
        self.log = log
        counts = links.contains { $0.counting != nil }
    }

    func context(_ delivery: Delivery) -> StageContext {
        StageContext(
            deadline: delivery.deadline, limit: delivery.deadline, wallClock: delivery.wallClock, count: delivery.count,
            record: delivery.record,
            chain: self)
    }

    func note(
        _ result: StageResult, of stage: Int, _ delivery: Delivery, _ content: NotificationContent, took: UInt64 = 0
    ) {
        delivery.results[stage] = result
        delivery.times[stage] = took
        observer?.stageEnded(stage, result, nanoseconds: took, content: content)
    }
}
