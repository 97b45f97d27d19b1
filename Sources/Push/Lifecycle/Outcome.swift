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
