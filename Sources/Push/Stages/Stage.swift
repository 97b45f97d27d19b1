/// One step of the chain, with the method names of Apple's notification service extension. A stage is created once and
/// serves every lane at the same time.
public protocol Stage: Sendable {
    /// The name under which metrics, logs, headers and the configuration know this stage.
    var name: String { get }

    /// True for a stage that never suspends and never blocks: it is then given the content in place and costs no copy.
    /// Such a stage must not keep its context beyond `didReceive`: the record's bytes are only lent to it.
    var isImmediate: Bool { get }

    /// Changes the content. A thrown error counts as `failed:error` (or the reason of a `StageFailure`), and what the
    /// stage had changed by then is undone. Listens to task cancellation, which comes with the deadline.
    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult

    /// The last chance: a quick edit without I/O, on the content as it was before this stage's `didReceive`. May be
    /// called on another thread while a `didReceive` that does not listen is still running. Returns what to report.
    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult
}

extension Stage {
    public var isImmediate: Bool { false }

    public func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult { .expired }
}
