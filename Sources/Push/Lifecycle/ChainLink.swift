/// A stage in its place in the chain.
public final class ChainLink: Sendable {
    public let stage: any Stage
    /// The time it may take of the message's deadline, in nanoseconds; nil for all of it.
    let budget: UInt64?
    let condition: LinkCondition?
    /// Whether it may run without a look at the clock.
    let isImmediate: Bool
    /// The stage, if it counts.
    let counting: (any CountingStage)?
    /// What stands in `pushmill-stages`: `decrypt=`, `decrypt=ok`.
    private let label: [UInt8]
    let okay: [UInt8]

    public init(_ stage: any Stage, condition: StageCondition? = nil, budget: Duration? = nil) {
        self.stage = stage
        self.budget = budget?.wholeNanoseconds
        self.condition = condition.flatMap(LinkCondition.init)
        isImmediate = stage.isImmediate
        counting = stage as? any CountingStage
        label = Array("\(stage.name)=".utf8)
        okay = label + Array("ok".utf8)
    }

    func append(_ result: StageResult, to text: inout [UInt8]) {
        if case .ok = result { return text.append(contentsOf: okay) }
        text.append(contentsOf: label)
        text.append(result)
    }

    func applies(to content: NotificationContent, _ record: InputRecord) -> Bool {
        condition?.holds(for: content, record) ?? true
    }
}
