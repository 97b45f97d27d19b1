/// One step of the chain, with the method names of Apple's notification service extension. A stage is created once and
/// serves every shard at the same time.
public protocol Stage: Sendable {
    /// The name under which metrics, logs, headers and the configuration know this stage.
    var name: String { get }

    /// Whether this stage, as it is configured, never waits. Not to be written by hand: an `ImmediateStage` says so by being
    /// one. A stage that says so with a `didReceive` that is async is right too, and runs on the pool like any other.
    var isImmediate: Bool { get }

    /// What this stage may report beside `ok`, `skipped`, `expired` and `failed:error`: metrics have a counter for each from the
    /// start.
    var results: [StageResult] { get }

    /// Changes the content. A thrown error counts as `failed:error` (or the reason of a `StageFailure`), and what the
    /// stage had changed by then is undone. Listens to task cancellation, which comes with the deadline.
    ///
    /// It may suspend or block: it runs on threads for that, on a copy of the content.
    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult

    /// What can be done for this message without waiting, or nil, which is the rule: then `didReceive` is called. For stages
    /// that have nothing to do for most messages, or know the answer for some, and save them the way to the pool. Neither
    /// suspends nor blocks. It must not keep its context: the record's bytes are only lent to it.
    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) throws -> StageResult?

    /// The last chance: a quick edit without I/O, on the content as it was before this stage's `didReceive`. May be
    /// called while a `didReceive` that does not listen is still running. Returns what to report.
    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult
}

extension Stage {
    public var isImmediate: Bool { self is any ImmediateStage }

    public var results: [StageResult] { [] }

    public func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) throws -> StageResult? { nil }

    public func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult { .expired }
}

/// A stage that computes: it neither suspends nor blocks. It runs in place, in the order of its partition, and costs a
/// message no copy. One that breaks its word holds up every partition of its core.
///
/// Such a stage must not keep its context beyond `didReceive`: the record's bytes are only lent to it.
public protocol ImmediateStage: Stage {
    /// As the stage's other one, without waiting.
    func didReceive(_ content: inout NotificationContent, context: StageContext) throws -> StageResult
}

extension ImmediateStage {
    public func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) throws -> StageResult? {
        try didReceive(&content, context: context)
    }
}
