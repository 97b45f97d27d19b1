/// The plural categories of CLDR. Raw values index the forms of a plural.
package enum PluralCategory: UInt8, CaseIterable, Sendable {
    case zero, one, two, few, many, other

    init?(_ name: SourceString) {
        guard let category = Self.allCases.first(where: { name.bytes.elementsEqual($0.name.utf8) }) else { return nil }
        self = category
    }

    package var name: String { "\(self)" }
}
