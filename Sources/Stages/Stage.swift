public import PushmillPayload

/// One step of the chain; its methods are named after those of Apple's notification service extension. A stage is
/// created once and serves every shard at the same time.
public protocol Stage: Sendable {
    /// The stage's name in metrics, logs, headers and the configuration.
    var name: String { get }

    /// Whether this stage, as configured, never waits. Seldom implemented by hand: true by default for an
    /// `ImmediateStage`. A stage that returns true with an async `didReceive` is correct too; it runs on the pool like
    /// any other.
    var isImmediate: Bool { get }

    /// The results this stage may report besides `ok`, `skipped`, `expired` and `failed:error`. Metrics have a counter
    /// for each from the start.
    var results: [StageResult] { get }

    /// Edits the content. A thrown error is reported as `failed:error`, or with the reason of a `StageFailure`, and the
    /// stage's edits are undone. Should honor task cancellation, which comes at the context's `limit`.
    ///
    /// It may suspend or block: it runs on threads kept for that, on a copy of the content.
    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult

    /// Handles the message without waiting, or returns nil, which is the default: then `didReceive` is called. Saves
    /// the way to the pool for messages that need nothing or whose answer is known. Must neither suspend nor block, nor
    /// keep its context: the record's bytes are only lent to it.
    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) throws -> StageResult?

    /// The last chance: a quick edit without I/O, on the content as it was before this stage's `didReceive`. May be
    /// called while a `didReceive` that ignores cancellation is still running. Returns the result to report: `expired`,
    /// unless there was nothing to do; a replay of recorded deadlines recognizes a late stage by it. Must not keep its
    /// context: if the message is late for its turn, the record's bytes are only lent.
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

/// A stage that only computes: it neither suspends nor blocks. It runs in place, in the order of its partition, and
/// without a copy of the content. If it blocks all the same, it holds up every partition of its core.
///
/// It must not keep its context beyond `didReceive`: the record's bytes are only lent to it.
public protocol ImmediateStage: Stage {
    /// Like `Stage.didReceive`, without waiting.
    func didReceive(_ content: inout NotificationContent, context: StageContext) throws -> StageResult
}

extension ImmediateStage {
    public func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) throws -> StageResult? {
        try didReceive(&content, context: context)
    }
}

/// A stage that runs another one, which the chain can then find.
package protocol StageWrapper: Stage {
    var wrapped: any Stage { get }
}

/// How a stage ended, as shown in the header `pushmill-stages` and in metrics.
public enum StageResult: Sendable, Equatable {
    case ok
    /// Nothing to do here.
    case skipped
    /// The deadline or the end of the stage's budget came before the stage ended.
    case expired
    /// The stage failed and applied its own fallback. The reason is from a fixed vocabulary, because it labels metrics.
    case failed(StaticString)
    /// A result of the stage's own, such as `miss`; from a fixed vocabulary too.
    case word(StaticString)

    public static func == (left: StageResult, right: StageResult) -> Bool { left.description == right.description }
}

extension StageResult: CustomStringConvertible {
    public var description: String { "\(parts.kind)\(parts.name)" }

    /// The two parts of the description; `kind` is empty except for a failure.
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

/// Thrown by a stage to fail with a reason of its own.
public struct StageFailure: Error {
    public let reason: StaticString

    public init(_ reason: StaticString) { self.reason = reason }
}

/// What a stage knows about the message besides its content. Only the async `didReceive` may keep it beyond its call.
public struct StageContext: Sendable {
    /// The latest time at which the message leaves the chain.
    public let deadline: Instant
    /// When a stage that may suspend is abandoned: at the end of its budget, or at the deadline if that is earlier.
    public internal(set) var limit: Instant
    /// The time until `limit`, for clients with timeouts of their own. By the chain's clock, which is not the system's
    /// in a replay or a test.
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

    /// The recipient of the notification: the header `recipient`, else the key.
    public var recipient: String? { Self.string(record.recipient) }

    /// The recipient's bytes, valid as long as the context.
    public var recipientBytes: UnsafeRawBufferPointer? { record.recipient }

    /// The record's key, valid as long as the context.
    public var keyBytes: UnsafeRawBufferPointer? { record.key }

    /// The header `locale`.
    public var locale: String? { Self.string(localeBytes) }

    public var localeBytes: UnsafeRawBufferPointer? { record.value(of: .locale) }

    /// True if the count already includes this message: redelivered, or counted before it became a dead letter.
    public var wasCounted: Bool { isCounted || record.has(.counted) }

    /// The last header of this name.
    public func header(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { Self.string(record.value(of: UnsafeRawBufferPointer($0))) }
    }

    /// The value of the last header of this name, valid as long as the context.
    public func headerBytes(_ name: Span<UInt8>) -> UnsafeRawBufferPointer? {
        name.withUnsafeBytes { record.value(of: $0) }
    }

    /// Writes a line, which must not quote the payload, to the service's log, with the stage and the source as fields.
    public func log(_ severity: StageResources.Severity, _ message: String) {
        chain.log(severity, chain.links[stage].stage.name, source, message)
    }

    private static func string(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
