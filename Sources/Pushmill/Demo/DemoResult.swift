import PushmillKafka

/// What came of one event.
struct DemoResult: Encodable, Sendable {
    let recipient: String
    let outcome: String
    /// What each stage did; for a dead letter the reason.
    let stages: String
    let before: DemoNotification
    let after: DemoNotification
}

extension DemoResult {
    init(_ event: DemoEvents.Event, _ record: Record) {
        func text(_ bytes: UnsafeRawBufferPointer?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
        let reason = text(record.headers?.last("pushmill.error.reason"))
        self.init(
            recipient: event.recipient,
            outcome: reason == nil ? text(record.headers?.last("pushmill-outcome")) ?? "" : "dead-letter",
            stages: reason ?? text(record.headers?.last("pushmill-stages")) ?? "",
            before: DemoNotification(event.payload), after: DemoNotification(text(record.value) ?? ""))
    }

    var text: String {
        let head = "\(recipient.padded(to: 8)) \(outcome.padded(to: 13)) \(stages)"
        guard before.text != after.text else { return "\(head)\n    =  \(before.text)" }
        return "\(head)\n    -  \(before.text)\n    +  \(after.text)"
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
