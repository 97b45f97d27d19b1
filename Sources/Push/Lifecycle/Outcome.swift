/// How a message ends. The raw value is an index for metrics.
public enum Outcome: Int, CaseIterable, Sendable {
    case modified, passed, bestAttempt, original, expired, deadLetter

    public var name: StaticString {
        switch self {
        case .modified: "modified"
        case .passed: "passed"
        case .bestAttempt: "best-attempt"
        case .original: "original"
        case .expired: "expired"
        case .deadLetter: "dead-letter"
        }
    }
}

/// Why a record cannot be a notification. The raw value is an index for metrics.
public enum DeadLetterReason: Int, CaseIterable, Sendable {
    case nullValue, notJSON, tooDeep, notObject, noAps, tooLarge, publishFailed

    public var name: StaticString {
        switch self {
        case .nullValue: "null-value"
        case .notJSON: "not-json"
        case .tooDeep: "too-deep"
        case .notObject: "not-object"
        case .noAps: "no-aps"
        case .tooLarge: "too-large"
        case .publishFailed: "publish-failed"
        }
    }
}

/// What becomes of a message now.
public struct Verdict: Sendable, Equatable {
    public enum Destination: Sendable { case output, deadLetters, nowhere }

    public let outcome: Outcome
    /// Where `Delivery.output` goes. `nowhere`: an expired message that is to be dropped.
    public let destination: Destination
    /// For dead letters.
    public let reason: DeadLetterReason?
}
