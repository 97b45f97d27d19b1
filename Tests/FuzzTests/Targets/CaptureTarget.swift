import PushmillPayload
import PushmillStores

@testable import PushmillReplay

/// A record of a capture can be compared with others, redacted, shown and, if it is a dead letter, sent back.
final class CaptureTarget: FuzzTarget {
    static let names = ["capture"]

    private let comparison = RecordComparison(ignored: IgnoredFields([]))
    private let redaction = Redaction()

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        guard let record = try? RecordEnvelope(line: bytes) else { return }
        try promise(comparison.changes(from: record, to: record).isEmpty, "differs from itself")
        _ = RecordSide(record)
        try keep(record)
        try redact(record)
        if let letter = DeadLetter(record) {
            try promise(letter.restored.payload == record.payload, "sent back as another")
            try promise(DeadLetter(letter.restored) == nil, "sent back as a dead letter")
        }
    }

    /// The record survives writing and reading as a baseline does it.
    private func keep(_ record: RecordEnvelope) throws {
        let place = record.source ?? OutputPlace(record)
        let kept = try BaselineLine.read(BaselineLine.bytes(of: record, from: place), from: place)
        var expected = record
        (expected.topic, expected.partition, expected.offset) = (place.topic, place.partition, place.offset)
        try promise(kept == expected, "kept as another")
    }

    private func redact(_ record: RecordEnvelope) throws {
        let redacted = redaction.redacted(record)
        try promise(redaction.redacted(record) == redacted, "redacted in two ways")
        try promise(redacted.key?.count == record.key?.count, "a stand-in of another length")
        try promise(
            redacted.headers.map { $0.value?.count } == record.headers.map { $0.value?.count },
            "a header of another length")
        guard let payload = record.payload, let document = try? JSONDocument(bytes: payload),
            document.kind(of: document.root) == .object
        else { return }
        let changes = comparison.changes(from: record, to: redacted)
        try promise(!changes.contains { $0.field == FieldChange.payload }, "JSON that is none any more")
    }
}
