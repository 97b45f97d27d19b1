/// One field that is not the same before and after.
package struct FieldChange: Sendable, Equatable {
    /// A JSON Pointer into the payload, `header:NAME`, or one of the names below.
    package let field: String
    /// A value as JSON spells it, or a header's text; nil where the field is not there.
    package let before: String?
    package let after: String?

    package static let key = "key"
    package static let timestamp = "timestamp"
    /// A payload that is no JSON, on one side at least.
    package static let payload = "payload"
    /// The same members and values: whitespace, order, or the spelling of a name.
    package static let layout = "layout"

    static func header(_ name: String) -> String { "header:\(name)" }
}

/// What became of one record of the input, where that is not what the baseline has.
package struct RecordChange: Sendable {
    package enum Kind: Sendable, Equatable {
        case changed
        /// Only there now.
        case new
        /// Only there in the baseline.
        case missing
    }

    package let kind: Kind
    /// Where the input stands: `topic/partition/offset`.
    package let source: String
    package let before: RecordSide?
    package let after: RecordSide?
    /// For `changed`, in order of their names.
    package let fields: [FieldChange]

    /// Records that changed alike have the same: `/aps/alert/body + /aps/badge`.
    package var group: String {
        switch kind {
        case .changed: fields.map(\.field).joined(separator: " + ")
        case .new: "new"
        case .missing: "missing"
        }
    }
}
