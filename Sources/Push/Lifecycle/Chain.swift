/// Takes messages through the stages: gate, stages, deadline, checks. One chain serves every shard; each calls it on its
/// own thread with deliveries of its own. A verdict that is returned is to be carried out by the caller, who may then
/// clear the delivery and use it again.
public final class Chain: Sendable {
    public struct Settings: Sendable {
        /// From the moment a message was taken from the input.
        public var deadline = Duration.seconds(30)
        /// Whether messages that had expired before their turn are published.
        public var publishesExpired = true
        /// Whether the time that a stage takes is measured, which costs a reading of the clock for each; where it computes,
        /// for messages that say so.
        public var measuresStages = false

        public init() {}
    }

    public enum Step: Sendable {
        case ended(Verdict)
        /// A stage may wait: its work is to be started on a pool, `resume` to be called when it has ended there, and at that
        /// time `expire`. The delivery has its bytes for itself, so that the lender may have his back.
        case suspended(until: Instant, StageWork)
        /// `expire` was called early: at that time once more.
        case waiting(until: Instant)
    }

    /// A stage's line about one message.
    public typealias Log =
        @Sendable (_ severity: StageResources.Severity, _ stage: String, _ source: Source, _ message: String) -> Void

    public let links: [ChainLink]
    let settings: Settings
    let time: TimeSource
    let observer: (any ChainObserver)?
    let log: Log
    /// Whether a stage counts, so that `begin` wants the counts of accounts.
    public let counts: Bool

    /// What stands in `pushmill-stages` where every stage ends well.
    let allOkay: [UInt8]

    /// The name of the first that does.
    package var countingStage: String? { links.first { $0.counting != nil }?.stage.name }

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
        allOkay = Array(links.map(\.okay).joined(separator: [UInt8(ascii: ",")]))
    }

    func context(_ delivery: Delivery) -> StageContext {
        StageContext(
            deadline: delivery.deadline, limit: delivery.deadline, wallClock: delivery.wallClock, count: delivery.count,
            record: delivery.record, chain: self, isCounted: delivery.isCounted)
    }

    func note(
        _ result: StageResult, of stage: Int, _ delivery: Delivery, _ content: NotificationContent, took: UInt64 = 0
    ) {
        delivery.results[stage] = result
        delivery.times[stage] = took
        observer?.stageEnded(stage, result, nanoseconds: took, content: content)
    }
}
