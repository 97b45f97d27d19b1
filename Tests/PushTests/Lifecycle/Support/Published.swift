@testable import PushmillPayload
@testable import PushmillStages

/// The outcome of a message, in a form to compare.
struct Published: Equatable {
    let outcome: Outcome
    let destination: Verdict.Destination
    let reason: DeadLetterReason?
    let envelope: RecordEnvelope
    let badgeOperation: BadgeOperation?

    init(_ verdict: Verdict, _ delivery: Delivery) {
        outcome = verdict.outcome
        destination = verdict.destination
        reason = verdict.reason
        envelope = RecordEnvelope(output: delivery)
        badgeOperation = delivery.badgeOperation
    }

    var value: String? { envelope.payload.map { String(decoding: $0, as: UTF8.self) } }

    var stages: String? { self["pushmill-stages"] }

    /// The header's values, joined by a comma; nil if there is none.
    subscript(name: String) -> String? {
        let found = envelope.headers.filter { $0.name.elementsEqual(name.utf8) }
        guard !found.isEmpty else { return nil }
        return found.map { header in header.value.map { String(decoding: $0, as: UTF8.self) } ?? "null" }
            .joined(separator: ",")
    }
}
