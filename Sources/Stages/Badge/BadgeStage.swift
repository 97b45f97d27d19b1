package import PushmillPayload

/// Turns the increment in `aps.badge` into the recipient's count in the app: 0 resets, n adds n. In `absolute` mode,
/// stores the badge as the count.
package struct BadgeStage: CountingStage, ImmediateStage {
    package enum Mode: String, CaseIterable, Sendable {
        case increment, absolute
    }

    package let name = "badge"
    package var results: [StageResult] { [.failed("not-a-count"), .failed("no-recipient")] }
    private let mode: Mode

    package init(mode: Mode) { self.mode = mode }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        guard let badge = content.badgeNode, content.document.kind(of: badge) != .null else { return .skipped }
        guard let number = content.document.integer(of: badge).flatMap(Int32.init(exactly:)), number >= 0 else {
            return .failed("not-a-count")
        }
        guard let count = context.count else { return .failed("no-recipient") }
        let operation: BadgeOperation = mode == .absolute || number == 0 ? .set(number) : .add(number)
        if !context.wasCounted { content.badgeOperation = operation }
        if mode == .increment {
            let sum = context.wasCounted ? count : operation.applied(to: count)
            // A badge that is already right keeps its bytes.
            if sum != number { content.badge = Int(sum) }
        }
        return .ok
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        didReceive(&content, context: context)
    }

    package func didPass(
        clearing content: NotificationContent, context: StageContext
    ) -> (BadgeOperation?, StageResult) {
        guard context.count != nil else { return (nil, .failed("no-recipient")) }
        return (context.wasCounted ? nil : .set(0), .ok)
    }
}

extension BadgeStage {
    static let entry = StageEntry("badge", neverWaits: true) { settings in
        let mode = settings.value("mode", .choice(Mode.self), default: .increment)
        return { _ in BadgeStage(mode: mode) }
    }
}
