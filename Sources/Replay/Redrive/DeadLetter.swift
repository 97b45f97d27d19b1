package import PushmillStages

/// A record that could not be a notification, as it stands in the topic of dead letters.
package struct DeadLetter: Sendable {
    private static let errors = Array("pushmill.error.".utf8)

    package let record: RecordEnvelope
    package let reason: String
    /// How often it has been a dead letter, this time included.
    package let attempt: Int64
    /// Where it came from.
    package let topic: String
    package let partition: Int32
    package let offset: Int64

    /// Nil for what is no dead letter of ours.
    package init?(_ record: RecordEnvelope) {
        guard let reason = record.text("pushmill.error.reason"), let topic = record.text("pushmill.error.topic"),
            let partition = record.text("pushmill.error.partition").flatMap({ Int32($0) }), partition >= 0,
            let offset = record.text("pushmill.error.offset").flatMap({ Int64($0) }),
            let attempt = record.text("pushmill.error.attempt").flatMap({ Int64($0) }), attempt > 0
        else { return nil }
        self.record = record
        self.reason = reason
        self.attempt = attempt
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    /// The record was too large for the brokers even as a letter, which only names it then.
    package var isWithoutRecord: Bool { record.payload == nil && reason != "null-value" }

    /// The record as it was, with the number of the attempt; what says that its badge was counted stays.
    package var restored: RecordEnvelope {
        var restored = record
        restored.topic = topic
        restored.partition = partition
        restored.headers.removeAll { header in
            header.name.starts(with: Self.errors) || header.isNamed("pushmill-outcome")
                || header.isNamed("pushmill-source") || header.isNamed("pushmill-stages")
                || header.isNamed("pushmill-attempt")
        }
        restored.headers.append(
            RecordEnvelope.Header(name: Array("pushmill-attempt".utf8), value: Array("\(attempt)".utf8)))
        return restored
    }
}
