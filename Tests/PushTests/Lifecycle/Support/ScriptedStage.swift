@testable import PushmillPayload
@testable import PushmillStages

/// A stage made of closures. With `isImmediate` it runs in place.
struct ScriptedStage: Stage {
    typealias Receive = @Sendable (inout NotificationContent, StageContext) async throws -> StageResult
    typealias Immediate = @Sendable (inout NotificationContent, StageContext) throws -> StageResult
    typealias Expire = @Sendable (inout NotificationContent, StageContext) -> StageResult

    let name: String
    let isImmediate: Bool
    private let receive: Receive
    private let immediate: Immediate?
    private let expire: Expire

    init(
        _ name: String, receive: @escaping Receive = { _, _ in .ok },
        expire: @escaping Expire = { _, _ in .expired }
    ) {
        self.name = name
        isImmediate = false
        immediate = nil
        self.receive = receive
        self.expire = expire
    }

    init(
        _ name: String, isImmediate: Bool, receive: @escaping Immediate,
        expire: @escaping Expire = { _, _ in .expired }
    ) {
        self.name = name
        self.isImmediate = isImmediate
        immediate = isImmediate ? receive : nil
        self.receive = { content, context in try receive(&content, context) }
        self.expire = expire
    }

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        try await receive(&content, context)
    }

    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) throws -> StageResult? {
        try immediate?(&content, context)
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        expire(&content, context)
    }

    /// Appends to the body: `mark` in time, `mark` and a question mark at its last chance.
    static func marking(_ mark: String, isImmediate: Bool = true) -> ScriptedStage {
        ScriptedStage(
            mark, isImmediate: isImmediate,
            receive: { content, _ in
                content.body = (content.body ?? "") + mark
                return .ok
            },
            expire: { content, _ in
                content.body = (content.body ?? "") + mark + "?"
                return .expired
            })
    }
}

/// Counts in memory as the badge stage does.
struct ScriptedCounter: CountingStage, ImmediateStage {
    let name = "badge"
    /// Its result after it has counted.
    var result = StageResult.ok

    func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        count(&content, context)
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        count(&content, context)
    }

    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult) {
        (.set(0), .ok)
    }

    private func count(_ content: inout NotificationContent, _ context: StageContext) -> StageResult {
        guard let badge = content.badge else { return .skipped }
        guard let increment = Int32(exactly: badge) else { return .failed("not-a-count") }
        guard let count = context.count else { return .failed("no-recipient") }
        let operation = BadgeOperation.add(increment)
        content.badge = Int(operation.applied(to: count))
        content.badgeOperation = operation
        return result
    }
}
