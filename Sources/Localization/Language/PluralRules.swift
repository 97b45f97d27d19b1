import CPushmillICU

/// One language's way to choose a plural form, by ICU.
// Unchecked: the handle is not changed after `init`, and ICU's selection, to which a message gives a number and nothing
// else, only reads it.
package final class PluralRules: @unchecked Sendable {
    private let handle: OpaquePointer

    /// Nil only if ICU lacks its data.
    package init?(locale: LocaleName) {
        var status = U_ZERO_ERROR
        guard let handle = pushmill_icu_plural_rules_open(locale.icuName, &status), status.rawValue <= 0 else {
            return nil
        }
        self.handle = handle
    }

    deinit { pushmill_icu_plural_rules_close(handle) }

    /// The rules look at no more than the last six digits of a whole number, and at its being small: those are kept beyond
    /// what a double holds exactly, and beyond 64 bits, which is as far as ICU counts. A double of that size is whole.
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

    /// What counts up to a thousand need. Some languages have further forms, for fractions and for whole millions.
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
