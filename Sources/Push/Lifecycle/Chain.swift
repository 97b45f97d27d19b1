/// A stage in its place in the chain.
public struct ChainLink: Sendable {
    public let stage: any Stage
    public let condition: StageCondition?
    /// The time it may take of the message's deadline; nil for all of it.
    public let budget: Duration?

    public init(_ stage: any Stage, condition: StageCondition? = nil, budget: Duration? = nil) {
        self.stage = stage
        self.condition = condition
        self.budget = budget
    }
}

/// Takes one message after another through the stages: gate, stages, deadline, checks. It serves every lane; whoever
/// calls a method has the delivery. A verdict that is returned is to be carried out by the caller, who then may reuse
/// the delivery; nil says that the delivery is somebody else's by now.
public final class Chain: Sendable {
    public struct Settings: Sendable {
        /// From the moment a message was taken from the input.
        public var deadline: Duration = .seconds(30)
        /// Whether messages that have expired before their turn are published.
        public var publishesExpired = true

        public init() {}
    }

    public enum Step: Sendable, Equatable {
        case ended(Verdict)
        /// `run` is to be called.
        case run
    }

    public enum TimerStep: Sendable, Equatable {
        case ended(Verdict)
        /// The stage has used up its budget. `run` is to be called again, in a new task: the old one is the stage's.
        case run
        /// Not yet: look again at `nextWakeUp`, or the delivery is somebody else's by now.
        case wait
    }

    /// A stage's line about one message.
    public typealias Log =
        @Sendable (_ severity: StageResources.Severity, _ stage: String, _ source: Source, _ message: String) -> Void

    let links: [ChainLink]
    let settings: Settings
    let time: TimeSource
    let observer: (any ChainObserver)?
    let log: Log

    public init(
        _ links: [ChainLink], settings: Settings = Settings(), time: TimeSource = .system,
        observer: (any ChainObserver)? = nil, log: @escaping Log = { _, _, _, _ in }
    ) {
        self.links = links
        self.settings = settings
        self.time = time
        self.observer = observer
        self.log = log
    }

    /// A message's turn, its record being filled. `taken` is when it came from the input, `wallClock` the milliseconds
    /// since 1970 by which it may have expired. Beyond the deadline the stages make their last-chance edits here.
    public func begin(_ delivery: Delivery, taken: Instant, now: Instant, wallClock: Int64) -> Step { .run }

    /// The stages, in the caller's task and on its executor. nil: the deadline has taken the delivery, the result is
    /// dropped; the task is cancelled and good for nothing else.
    public func run(_ delivery: Delivery) async -> Verdict? { nil }

    /// `nextWakeUp` of a suspended delivery has come. Called on its lane.
    public func timer(_ delivery: Delivery, now: Instant) -> TimerStep { .wait }

    /// The deadline has come and the lane's thread is stuck in a stage. Called on any thread. With a verdict the
    /// delivery is the caller's for good: it is not to be reused.
    public func expireFromOutside(_ delivery: Delivery, now: Instant) -> Verdict? { nil }

    /// Makes the delivery's record a dead letter, at any time after `begin`.
    public func deadLetter(
        _ delivery: Delivery, _ reason: DeadLetterReason, message: String, counted: Bool = false
    ) -> Verdict {
        Verdict(outcome: .deadLetter, destination: .deadLetters, reason: reason)
    }
}
