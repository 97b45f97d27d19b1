/// How a stage ended, as `pushmill-stages` and the metrics say it.
public enum StageResult: Sendable, Equatable {
    case ok
    /// Nothing to do here.
    case skipped
    /// The deadline came before the stage had ended.
    case expired
    /// The stage has applied its own fallback. The reason is one of a fixed vocabulary: it labels metrics.
    case failed(StaticString)
    /// A word of the stage's own, such as `miss`; fixed too.
    case word(StaticString)

    public static func == (left: StageResult, right: StageResult) -> Bool { left.description == right.description }
}

extension StageResult: CustomStringConvertible {
    public var description: String {
        switch self {
        case .ok: "ok"
        case .skipped: "skipped"
        case .expired: "expired"
        case .failed(let reason): "failed:\(reason)"
        case .word(let word): "\(word)"
        }
    }
}

/// What a stage throws to say why it failed in a word of its own.
public struct StageFailure: Error {
    public let reason: StaticString

    public init(_ reason: StaticString) { self.reason = reason }
}
