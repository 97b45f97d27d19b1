import CPushmillICU

/// How a locale writes numbers: taken from ICU once, because its own formatters serve one thread at a time.
package final class NumberSymbols: Sendable {
    /// A text and its length in characters.
    struct Symbol: Sendable {
        var bytes: [UInt8] = []
        var characters = 0
    }

    let digits: [Symbol]
    let hasASCIIDigits: Bool
    let decimalSeparator: Symbol
    let groupSeparator: Symbol
    let plus: Symbol
    let negativePrefix: Symbol
    let negativeSuffix: Symbol
    /// Digits in the group next to the decimal separator; 0 for no grouping.
    let primaryGroup: Int
    /// Digits in the groups before that.
    let secondaryGroup: Int

    /// Nil only if ICU lacks its data.
    package init?(locale: LocaleName) {
        var status = U_ZERO_ERROR
        guard let format = pushmill_icu_number_format_open(locale.icuName, &status) else { return nil }
        defer { pushmill_icu_number_format_close(format) }

        func read(_ body: (UnsafeMutablePointer<CChar>) -> Int32) -> Symbol {
            var text = [CChar](repeating: 0, count: pushmill_icu_text_capacity)
            let count = Int(body(&text))
            let bytes = text.prefix(count).map(UInt8.init(bitPattern:))
            return Symbol(bytes: bytes, characters: String(decoding: bytes, as: UTF8.self).unicodeScalars.count)
        }
        func symbol(_ symbol: UNumberFormatSymbol) -> Symbol {
            read { pushmill_icu_number_symbol(format, symbol, $0, &status) }
        }
        let digitSymbols = [
            UNUM_ZERO_DIGIT_SYMBOL, UNUM_ONE_DIGIT_SYMBOL, UNUM_TWO_DIGIT_SYMBOL, UNUM_THREE_DIGIT_SYMBOL,
            UNUM_FOUR_DIGIT_SYMBOL, UNUM_FIVE_DIGIT_SYMBOL, UNUM_SIX_DIGIT_SYMBOL, UNUM_SEVEN_DIGIT_SYMBOL,
            UNUM_EIGHT_DIGIT_SYMBOL, UNUM_NINE_DIGIT_SYMBOL,
        ]
        digits = digitSymbols.map(symbol)
        hasASCIIDigits = digits.map(\.bytes) == (UInt8(ascii: "0")...UInt8(ascii: "9")).map { [$0] }
        decimalSeparator = symbol(UNUM_DECIMAL_SEPARATOR_SYMBOL)
        groupSeparator = symbol(UNUM_GROUPING_SEPARATOR_SYMBOL)
        plus = symbol(UNUM_PLUS_SIGN_SYMBOL)
        negativePrefix = read { pushmill_icu_number_affix(format, UNUM_NEGATIVE_PREFIX, $0, &status) }
        negativeSuffix = read { pushmill_icu_number_affix(format, UNUM_NEGATIVE_SUFFIX, $0, &status) }
        guard status.rawValue <= 0 else { return nil }

        primaryGroup = Int(max(0, pushmill_icu_number_attribute(format, UNUM_GROUPING_SIZE)))
        let secondary = Int(max(0, pushmill_icu_number_attribute(format, UNUM_SECONDARY_GROUPING_SIZE)))
        secondaryGroup = secondary > 0 ? secondary : primaryGroup
    }
}
