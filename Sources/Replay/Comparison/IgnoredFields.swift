/// Fields that may differ: JSON Pointers with all that is below them, `header:NAME`, or another field by its name.
package struct IgnoredFields: Sendable {
    private let names: Set<String>
    private let pointers: [String]

    package init(_ fields: [String]) {
        names = Set(fields)
        pointers = fields.filter { $0.hasPrefix("/") }.map { "\($0)/" }
    }

    package func contains(_ field: String) -> Bool {
        names.contains(field) || pointers.contains { field.hasPrefix($0) }
    }
}
