public import PushmillPayload

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
    /// called while a `didReceive` that does not listen is still running. Returns what to report: `expired`, by which a
    /// replay of recorded deadlines knows that the stage was late, unless there was nothing to do. It must not keep its
    /// context: where the message is late for its turn the record's bytes are only lent.
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

/// How a stage ended, as `pushmill-stages` and the metrics say it.
public enum StageResult: Sendable, Equatable {
    case ok
    /// Nothing to do here.
    case skipped
    /// The deadline, or the end of its budget, came before the stage had ended.
    case expired
    /// The stage has applied its own fallback. The reason is one of a fixed vocabulary: it labels metrics.
    case failed(StaticString)
    /// A word of the stage's own, such as `miss`; fixed too.
    case word(StaticString)

    public static func == (left: StageResult, right: StageResult) -> Bool { left.description == right.description }
}

extension StageResult: CustomStringConvertible {
    public var description: String { "\(parts.kind)\(parts.name)" }

    /// Its two parts; the first is empty but for a failure.
    var parts: (kind: StaticString, name: StaticString) {
        switch self {
        case .ok: ("", "ok")
        case .skipped: ("", "skipped")
        case .expired: ("", "expired")
        case .failed(let reason): ("failed:", reason)
        case .word(let word): ("", word)
        }
    }
}

/// What a stage throws to say why it failed in a word of its own.
public struct StageFailure: Error {
    public let reason: StaticString

    public init(_ reason: StaticString) { self.reason = reason }
}

/// What a stage knows of the message beside its content. Only the async `didReceive` may keep it beyond its call.
public struct StageContext: Sendable {
    /// When the message leaves at the latest.
    public let deadline: Instant
    /// When a stage that may suspend loses the message: at the end of its budget, or at the deadline if that is earlier.
    public internal(set) var limit: Instant
    /// The time until `limit`, for clients with time-outs of their own: by the clock of the chain, which is no system's in a
    /// replay or a test.
    public var timeLeft: Duration { .nanoseconds(limit.nanoseconds(since: chain.time.now)) }
    /// Milliseconds since 1970: the clock in a service, the record's own timestamp in a replay.
    public let wallClock: Int64
    /// The recipient's count in the app before this message, if a stage of the chain counts and there is a recipient.
    public let count: Int32?
    let record: InputRecord
    let chain: Chain
    var stage = 0
    var isCounted = false

    /// Where the record stands in the input.
    public var source: Source { record.source }

    /// Who is notified: the header `recipient`, else the key.
    public var recipient: String? { Self.string(record.recipient) }

    /// The recipient's bytes, good for as long as the context is.
    public var recipientBytes: UnsafeRawBufferPointer? { record.recipient }

    /// The record's key, good for as long as the context is.
    public var keyBytes: UnsafeRawBufferPointer? { record.key }

    /// The header `locale`.
    public var locale: String? { Self.string(localeBytes) }

    public var localeBytes: UnsafeRawBufferPointer? { record.value(of: .locale) }

    /// True where the count has this message in it already: it comes again, or was counted before it became a dead letter.
    public var wasCounted: Bool { isCounted || record.has(.counted) }

    /// The last header of this name.
    public func header(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { Self.string(record.value(of: UnsafeRawBufferPointer($0))) }
    }

    /// The value of the last header of this name, good for as long as the context is.
    public func headerBytes(_ name: Span<UInt8>) -> UnsafeRawBufferPointer? {
        name.withUnsafeBytes { record.value(of: $0) }
    }

    /// Writes a line to the service's log, with the stage and the source as fields. No text of the payload belongs here.
    public func log(_ severity: StageResources.Severity, _ message: String) {
        chain.log(severity, chain.links[stage].stage.name, source, message)
    }

    private static func string(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
