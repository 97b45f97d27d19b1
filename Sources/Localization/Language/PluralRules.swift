import CPushmillICU

/// One language's rules for choosing a plural form, from ICU.
// Unchecked: the handle does not change after `init`, and ICU's selection, to which a message gives only a number, only
// reads the handle.
package final class PluralRules: @unchecked Sendable {
    private let handle: OpaquePointer

    /// Nil only if ICU lacks its data.
    package init?(locale: LocaleName) {
        var status: Int32 = 0
        guard let handle = pushmill_icu_plural_rules_open(locale.icuName, &status), status <= 0 else {
            return nil
        }
        self.handle = handle
    }

    deinit { pushmill_icu_plural_rules_close(handle) }

    /// The rules look only at a whole number's last six digits and at its being small: both are kept for numbers beyond
    /// what a double holds exactly, and beyond 64 bits, as far as ICU counts. A double of that size is whole.
    func category(of number: FormatNumber) -> PluralCategory {
        let magnitude =
            switch number {
            case .integer(let magnitude, _): Double(magnitude < 1 << 53 ? magnitude : 1_000_000 + magnitude % 1_000_000)
            case .fraction(let value) where abs(value) < 0x1p53: abs(value)
            case .fraction(let value): 1_000_000 + abs(value).truncatingRemainder(dividingBy: 1_000_000)
            }
        let place = UInt8(truncatingIfNeeded: pushmill_icu_plural_category(handle, magnitude))
        return PluralCategory(rawValue: place) ?? .other
    }

    /// The categories for counts up to a thousand. Some languages have more, for fractions and for whole millions.
    var usualCategories: Set<PluralCategory> {
        Set((0...1000).map { category(of: .integer(magnitude: $0, isNegative: false)) })
    }
}

/// The plural categories of CLDR. Raw values index the forms of a plural.
package enum PluralCategory: UInt8, CaseIterable, Sendable {
    case zero, one, two, few, many, other

    init?(_ name: SourceString) {
        guard let category = Self.allCases.first(where: { name == $0.name }) else { return nil }
        self = category
    }

    package var name: StaticString { Self.names[Int(rawValue)] }

    private static let names: [StaticString] = ["zero", "one", "two", "few", "many", "other"]
}
