public import PushmillPayload

/// Takes messages through gate, stages, deadline and checks. One chain serves every shard; each shard calls it on its
/// own thread with its own deliveries. The caller carries out a returned verdict and may then clear and reuse the
/// delivery.
public final class Chain: Sendable {
    public struct Settings: Sendable {
        /// How long a message has from its turn on. A message that waited this long for its turn gets only last-chance
        /// edits.
        public var deadline = Duration.seconds(30)
        /// Whether messages that had expired before their turn are published.
        public var publishesExpired = true

        public init() {}
    }

    public enum Step: Sendable {
        case ended(Verdict)
        /// A stage may wait: the caller starts its work on a pool, calls `resume` when the work has ended, and `wakeUp`
        /// at the given time. The delivery has copied the record's bytes, so the caller may release the record.
        case suspended(until: Instant, StageWork)
        /// `wakeUp` was called too early; call it again at the given time.
        case notDue(until: Instant)
    }

    /// Logs a stage's line about one message.
    public typealias Log =
        @Sendable (_ severity: StageResources.Severity, _ stage: String, _ source: Source, _ message: String) -> Void

    public let links: [ChainLink]
    /// `links` without reference counting, which every message would pay for.
    let unownedLinks: [Unmanaged<ChainLink>]
    let settings: Settings
    /// The settings' deadline.
    let deadlineNanoseconds: UInt64
    let time: TimeSource
    let observer: (any ChainObserver)?
    let log: Log
    /// If true, `begin` needs the counts of accounts.
    public let hasCountingStage: Bool

    /// The stage that can prefetch what it will look up.
    private let contact: ContactStage?
    /// The stage that has the catalog, for texts of the others.
    let catalog: LocalizeStage?

    /// The value of `pushmill-stages` if every stage ends `ok`.
    let allOkay: [UInt8]

    /// The name of the first stage that counts.
    package var countingStage: String? { links.first { $0.counting != nil }?.stage.name }

    public init(
        _ links: [ChainLink], settings: Settings = Settings(), time: TimeSource = .system,
        observer: (any ChainObserver)? = nil, log: @escaping Log = { _, _, _, _ in }
    ) {
        self.links = links
        unownedLinks = links.map(Unmanaged.passUnretained)
        self.settings = settings
        deadlineNanoseconds = settings.deadline.wholeNanoseconds
        self.time = time
        self.observer = observer
        self.log = log
        hasCountingStage = links.contains { $0.counting != nil }
        let stages = links.map { ($0.stage as? any StageWrapper)?.wrapped ?? $0.stage }
        contact = stages.lazy.compactMap { $0 as? ContactStage }.first
        catalog = stages.lazy.compactMap { $0 as? LocalizeStage }.first
        allOkay = Array(links.map(\.okay).joined(separator: [UInt8(ascii: ",")]))
    }

    /// Begins to prefetch what the stages look up for a message that comes soon, or next but a few (`isNear`). Does not
    /// wait.
    public func prepare(recipient: () -> UnsafeRawBufferPointer?, key: UnsafeRawBufferPointer?, isNear: Bool) {
        contact?.prepare(recipient: recipient, key: key, isNear: isNear)
    }

    package func context(_ delivery: Delivery) -> StageContext {
        StageContext(
            deadline: delivery.deadline, limit: delivery.deadline, wallClock: delivery.wallClock, count: delivery.count,
            record: delivery.record, chain: self, isCounted: delivery.isCounted)
    }

    func note(
        _ result: StageResult, of stage: Int, _ delivery: Delivery, _ content: NotificationContent, took: UInt64 = 0
    ) {
        delivery.results[stage] = result
        if delivery.times[stage] != took { delivery.times[stage] = took }
        observer?.stageEnded(stage, result, nanoseconds: took, content: content)
    }
}

/// A stage in its place in the chain.
public final class ChainLink: Sendable {
    public let stage: any Stage
    /// How long the stage may take, in nanoseconds; nil for all the time until the message's deadline.
    let budget: UInt64?
    let condition: StageCondition
    private let isConditional: Bool
    /// Whether the stage may run without a clock reading first.
    let isImmediate: Bool
    /// The stage, if it counts.
    let counting: (any CountingStage)?
    /// The stage's parts of `pushmill-stages`: `decrypt=`, `decrypt=ok`.
    private let label: [UInt8]
    let okay: [UInt8]

    public init(_ stage: any Stage, condition: StageCondition? = nil, budget: Duration? = nil) {
        self.stage = stage
        self.budget = budget?.wholeNanoseconds
        self.condition = condition ?? StageCondition()
        isConditional = self.condition != StageCondition()
        isImmediate = stage.isImmediate
        counting = stage as? any CountingStage
        label = Array("\(stage.name)=".utf8)
        okay = label + Array("ok".utf8)
    }

    func append(_ result: StageResult, to text: inout [UInt8]) {
        if case .ok = result { return text.append(contentsOf: okay) }
        text.append(contentsOf: label)
        text.append(result.parts.kind)
        text.append(result.parts.name)
    }

    @inline(__always)
    func applies(to content: NotificationContent, _ delivery: Delivery) -> Bool {
        !isConditional || condition.holds(for: content, delivery.record)
    }
}

extension StageCondition {
    func holds(for content: NotificationContent, _ record: InputRecord) -> Bool {
        if let member, content.node(at: member) == nil { return false }
        if !topics.isEmpty, !names(topics, record.value(of: .apnsTopic)) { return false }
        if !pushTypes.isEmpty, !names(pushTypes, record.value(of: .apnsPushType)) { return false }
        guard !categories.isEmpty else { return true }
        guard let category = content.apsMember("category") else { return false }
        return content.document.withText(of: category) { text in
            text.withUnsafeBytes { names(categories, $0) }
        } ?? false
    }

    private func names(_ values: [String], _ value: UnsafeRawBufferPointer?) -> Bool {
        guard let value else { return false }
        return values.contains { $0.utf8Span.span.bytes.withUnsafeBytes(value.hasBytes) }
    }
}

/// Follows the stages, which are identified by their index in the chain. Called on the thread that has the message
/// unless stated otherwise, so it must be quick.
public protocol ChainObserver: AnyObject, Sendable {
    /// The results of a message's stages follow, if any run. A message that passes or has expired is at most counted.
    func stagesWillBegin(_ content: NotificationContent)

    /// A stage has ended for a message, or its turn has passed. `nanoseconds` is 0 if the stage was not measured.
    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent)

    /// A running stage was abandoned: its budget or the deadline ended (`isLate`), or the message was given up.
    func stageAbandoned(_ stage: Int, isLate: Bool)

    /// An abandoned stage has ended; its result is dropped. Called on a thread of the pool.
    func abandonedStageEnded(_ stage: Int)
}

extension ChainObserver {
    public func stagesWillBegin(_ content: NotificationContent) {}

    public func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {}
}
