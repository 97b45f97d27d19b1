package import PushmillPayload

/// Compares two outputs of the same input.
struct RecordComparison: Sendable {
    let ignored: IgnoredFields

    /// The fields that differ, sorted by name. What a topic cannot preserve does not count: the topic's own name, and
    /// the timestamp if brokers set it, or if it was 0 or less and the output left with the time of its sending.
    func changes(from before: RecordEnvelope, to after: RecordEnvelope) -> [FieldChange] {
        var changes: [FieldChange] = []
        func compare<Value: Equatable>(_ field: String, _ old: Value, _ new: Value, _ shown: (Value) -> String?) {
            if old != new { changes.append(FieldChange(field: field, before: shown(old), after: shown(new))) }
        }
        compare(FieldChange.key, before.key, after.key, Self.shown)
        if before.timestampType != "logappend", after.timestamp > 0 {
            compare(FieldChange.timestamp, before.timestamp, after.timestamp) { "\($0)" }
        }
        if before.headers != after.headers {
            let (old, new) = (Self.headers(before), Self.headers(after))
            // Sorted by bytes: several names may be the same as texts, and two runs must give the same bytes.
            let names = Set(old.keys).union(new.keys).sorted { $0.lexicographicallyPrecedes($1) }
            for name in names {
                let field = "header:\(String(decoding: name, as: UTF8.self))"
                compare(field, old[name], new[name]) { values in
                    values?.map { Self.shown($0) ?? "(null)" }.joined(separator: ", ")
                }
            }
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
        return differences.map { FieldChange(field: $0.pointer, before: $0.before, after: $0.after) }
    }

    private static func document(_ payload: [UInt8]?) -> JSONDocument? {
        payload.flatMap { try? JSONDocument(bytes: $0) }
    }

    /// The values by name; those of a repeated name in their order.
    private static func headers(_ record: RecordEnvelope) -> [[UInt8]: [[UInt8]?]] {
        Dictionary(grouping: record.headers, by: \.name).mapValues { $0.map(\.value) }
    }

    /// Bytes that are not text are shown as hexadecimal digits.
    private static func shown(_ bytes: [UInt8]?) -> String? {
        guard let bytes else { return nil }
        guard (try? UTF8Span(validating: bytes.span)) != nil else {
            let digits = bytes.prefix(32).map { String($0, radix: 16).aligned(to: 2, by: "0") }
            return "\(bytes.count) bytes: \(digits.joined())"
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What a report shows of a record, before or after.
package struct RecordSide: Sendable, Equatable, Encodable {
    package let key: String
    package let outcome: String
    /// The app: the header `apns-topic`.
    package let app: String?
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var badge: String?
    package var category: String?

    package init(_ record: RecordEnvelope) {
        key = record.keyText
        outcome = record.text("pushmill-outcome") ?? ""
        app = record.text("apns-topic").flatMap { $0.isEmpty ? nil : $0 }
        guard let content = NotificationContent(record) else { return }
        title = content.shown(.title)
        subtitle = content.shown(.subtitle)
        body = content.shown(.body)
        badge = content.badge.map { "\($0)" }
        category = content.category
    }
}

extension NotificationContent {
    /// From a payload, or from a structured CloudEvent around one; nil if the record is not a notification.
    init?(_ record: RecordEnvelope) {
        guard let payload = record.payload else { return nil }
        self.init()
        do throws(PayloadError) {
            try payload.span.withUnsafeBytes { (value) throws(PayloadError) in
                guard record.isStructured else { return try read(value) }
                var event = CloudEvent()
                guard try event.read(value) else { throw .notAnObject }
                try event.readData(into: &self)
            }
        } catch {
            return nil
        }
    }

    /// The text, else the key that the device would look up.
    fileprivate func shown(_ text: AlertText) -> String? { self.text(text) ?? localizationKey(of: text) }
}

/// One field that differs.
package struct FieldChange: Sendable, Equatable, Encodable {
    /// A JSON Pointer into the payload, `header:NAME`, or one of the names below.
    package let field: String
    /// A value as spelled in JSON, or a header's text; nil if the field is missing.
    package let before: String?
    package let after: String?

    package static let key = "key"
    package static let timestamp = "timestamp"
    /// A payload that is not JSON, on one side at least.
    package static let payload = "payload"
    /// The same members and values, but other whitespace, order, or spelling of a name.
    package static let layout = "layout"
}

/// What became of one record of the input, if it differs from the baseline.
package struct RecordChange: Sendable, Encodable {
    package enum Kind: String, Sendable, Encodable {
        case changed
        /// Only in the candidate's outputs.
        case new
        /// Only in the baseline.
        case missing
    }

    package let kind: Kind
    /// The place of the input: `topic/partition/offset`.
    package let source: String
    package let before: RecordSide?
    package let after: RecordSide?
    /// For `changed`, in order of their names.
    package let fields: [FieldChange]

    /// The same for records that changed alike: `/aps/alert/body + /aps/badge`.
    package var group: String {
        switch kind {
        case .changed: fields.map(\.field).joined(separator: " + ")
        case .new: "new"
        case .missing: "missing"
        }
    }
}

/// Fields that may differ: JSON Pointers with all that is below them, `header:NAME`, or other fields by name.
package struct IgnoredFields: Sendable {
    private let names: Set<String>
    private let pointers: [String]

    package init(_ fields: [String]) {
        names = Set(fields)
        pointers = fields.filter { $0.hasPrefix("/") }.map { "\($0)/" }
    }

    package func contains(_ field: String) -> Bool {
        names.contains(field) || pointers.contains { field.hasPrefix($0) }
            || names.contains(FieldChange.payload) && (JSONPointer(field) != nil || field == FieldChange.layout)
    }
}

/// Which records are compared. All of them run, because counts must come out as without a filter.
package struct RecordFilter: Sendable {
    package var keys: Set<[UInt8]> = []
    package var categories: Set<String> = []
    /// A match before or after is enough.
    package var outcomes: Set<String> = []

    package init() {}

    func admits(_ input: RecordEnvelope) -> Bool {
        if !keys.isEmpty, !keys.contains(input.key ?? []) { return false }
        if categories.isEmpty { return true }
        return NotificationContent(input)?.category.map(categories.contains) ?? false
    }

    /// Removes the record's key and category from those that no record had so far.
    mutating func meet(_ input: RecordEnvelope) {
        if !keys.isEmpty { keys.remove(input.key ?? []) }
        if !categories.isEmpty, let category = NotificationContent(input)?.category { categories.remove(category) }
    }

    /// Every key and category was met.
    var isMet: Bool { keys.isEmpty && categories.isEmpty }

    func admits(outcomes before: String?, _ after: String?) -> Bool {
        outcomes.isEmpty || before.map(outcomes.contains) ?? false || after.map(outcomes.contains) ?? false
    }
}
