/// The plural categories of CLDR. Raw values index the forms of a plural.
package enum PluralCategory: UInt8, CaseIterable, Sendable {
    case zero, one, two, few, many, other

    init?(_ name: SourceString) {
        guard let category = Self.allCases.first(where: { name == $0.name }) else { return nil }
        self = category
    }

    package var name: StaticString {
        switch self {
        case .zero: "zero"
        case .one: "one"
        case .two: "two"
        case .few: "few"
        case .many: "many"
        case .other: "other"
        }
    }
}
