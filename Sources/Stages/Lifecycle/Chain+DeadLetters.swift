import PushmillPayload

/// Records that cannot become a notification, and why.
extension Chain {
    /// Makes the record a dead letter: with its value unchanged, and the error in headers that replace earlier ones.
    /// May be called once the record is filled. `counted` tells `redrive` that the badge was counted, if a stage
    /// counts.
    public func deadLetter(
        _ delivery: Delivery, _ reason: DeadLetterReason, message: String, counted: Bool = false
    ) -> Verdict {
        let record = delivery.record
        if !counted { delivery.badgeOperation = nil }
        delivery.output.clear()
        delivery.output.setValue(record.value)
        delivery.output.remove(KnownHeader.stages.name)
        func put(_ name: StaticString, _ write: (inout [UInt8]) -> Void) {
            delivery.output.remove(name)
            delivery.output.add(name, write)
        }
        put(KnownHeader.outcome.name) { $0.append(Outcome.deadLetter.name) }
        put(KnownHeader.source.name) { record.appendSource(to: &$0) }
        put("pushmill.error.reason") { $0.append(reason.name) }
        put("pushmill.error.message") { $0.append(contentsOf: Self.start(of: message)) }
        put("pushmill.error.stage") { $0.append(reason.step) }
        put("pushmill.error.topic") { $0.append(contentsOf: record.source.topic.name.utf8) }
        put("pushmill.error.partition") { $0.append(decimal: record.source.partition) }
        put("pushmill.error.offset") { $0.append(decimal: record.source.offset) }
        put("pushmill.error.attempt") { $0.append(decimal: record.attempt == .max ? .max : record.attempt + 1) }
        if counted, hasCountingStage { put(KnownHeader.counted.name) { $0.append("true") } }
        return Verdict(.deadLetter, to: .deadLetters, reason)
    }

    /// As much of the message as the header takes, never half a character: a reader would decode that as a longer one.
    private static func start(of message: String) -> Substring.UTF8View {
        var text = message.utf8.prefix(messageLimit + 1)
        guard text.count > messageLimit else { return text }
        while let last = text.popLast(), last & 0xC0 == 0x80 {}
        return text
    }
}

private let messageLimit = 512

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

    /// The step of a message's life in which the problem was found.
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
            case .tooManyMembers: .tooLarge
            case .withoutAps: .noAps
            }
    }
}
