import PushmillStages

/// Holds two outputs of the same input against each other.
struct RecordComparison: Sendable {
    let ignored: IgnoredFields

    /// The fields that differ, in order of their names. What a topic of the brokers cannot keep does not count: the
    /// topic's own name, and the timestamp where brokers set it.
    func changes(from before: RecordEnvelope, to after: RecordEnvelope) -> [FieldChange] {
        var changes: [FieldChange] = []
        func compare(_ field: String, _ old: String?, _ new: String?) {
            if old != new { changes.append(FieldChange(field: field, before: old, after: new)) }
        }
        if before.key != after.key { compare(FieldChange.key, Self.shown(before.key), Self.shown(after.key)) }
        if before.timestampType != "logappend" {
            compare(FieldChange.timestamp, "\(before.timestamp)", "\(after.timestamp)")
        }
        if before.headers != after.headers {
            let (old, new) = (Self.headers(before), Self.headers(after))
            for name in Set(old.keys).union(new.keys) { compare(FieldChange.header(name), old[name], new[name]) }
        }
        if before.payload != after.payload { changes += Self.payload(before.payload, after.payload) }
        return changes.filter { !ignored.contains($0.field) }.sorted { $0.field < $1.field }
    }

    private static func payload(_ before: [UInt8]?, _ after: [UInt8]?) -> [FieldChange] {
        guard let old = document(before), let new = document(after) else {
            return [FieldChange(field: FieldChange.payload, before: shown(before), after: shown(after))]
        }
        let differences = JSONDifference.between(old, new)
        guard !differences.isEmpty else {
            return [FieldChange(field: FieldChange.layout, before: shown(before), after: shown(after))]
        }
        return differences.map { difference in
            switch difference {
            case .added(let pointer, let value): FieldChange(field: pointer, before: nil, after: value)
            case .removed(let pointer, let value): FieldChange(field: pointer, before: value, after: nil)
            case .changed(let pointer, let from, let to): FieldChange(field: pointer, before: from, after: to)
            }
        }
    }

    private static func document(_ payload: [UInt8]?) -> JSONDocument? {
        payload.flatMap { try? JSONDocument(bytes: $0) }
    }

    /// The values by name; those of a name that repeats, in their order.
    private static func headers(_ record: RecordEnvelope) -> [String: String] {
        var texts: [String: String] = [:]
        for header in record.headers {
            let name = String(decoding: header.name, as: UTF8.self)
            let value = shown(header.value) ?? "(null)"
            texts[name] = texts[name].map { "\($0), \(value)" } ?? value
        }
        return texts
    }

    /// Bytes that are no text are told by their number.
    private static func shown(_ bytes: [UInt8]?) -> String? {
        guard let bytes else { return nil }
        guard (try? UTF8Span(validating: bytes.span)) != nil else {
            return "\(bytes.count) bytes: \(bytes.prefix(32).map { hexadecimal($0) }.joined())"
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
