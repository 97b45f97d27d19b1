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

    /// Where in a message's life it was found.
    var step: StaticString {
        switch self {
        case .nullValue, .notJSON, .tooDeep, .notObject, .noAps: "decode"
        case .tooLarge: "check"
        case .publishFailed: "publish"
        }
    }

    init(_ error: PayloadError) {
        self =
            switch error {
            case .notJSON: .notJSON
            case .tooDeep: .tooDeep
            case .notAnObject: .notObject
            case .tooManyAttributes: .tooLarge
            case .withoutAps: .noAps
            }
    }
}
