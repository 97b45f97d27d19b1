import CPushmillICU
import Glibc

/// How a locale writes numbers. Taken from ICU once, because ICU's own formatters serve one thread at a time.
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
    /// The fewest digits of a number with a separator.
    private let leastGrouped: Int

    /// Nil only if ICU lacks its data.
    package init?(locale: LocaleName) {
        var numbers = pushmill_icu_numbers()
        guard pushmill_icu_read_numbers(locale.icuName, &numbers) <= 0 else { return nil }
        let texts = withUnsafeBytes(of: numbers.texts) { bytes in
            stride(from: 0, to: bytes.count, by: Int(pushmill_icu_text_capacity)).map { start in
                let text = Array(bytes[start...].prefix { $0 != 0 })
                return Symbol(bytes: text, characters: String(decoding: text, as: UTF8.self).unicodeScalars.count)
            }
        }
        digits = Array(texts[..<10])
        hasASCIIDigits = digits.map(\.bytes) == (UInt8(ascii: "0")...UInt8(ascii: "9")).map { [$0] }
        (decimalSeparator, groupSeparator, plus) = (texts[10], texts[11], texts[12])
        (negativePrefix, negativeSuffix) = (texts[13], texts[14])
        primaryGroup = Int(max(0, numbers.last_group))
        secondaryGroup = numbers.other_groups > 0 ? Int(numbers.other_groups) : primaryGroup
        leastGrouped = primaryGroup + Int(numbers.minimum_grouping)
    }
}

extension NumberSymbols {
    func append(_ magnitude: UInt64, isNegative: Bool, _ layout: FormatLayout, to output: inout FormatOutput) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { ascii in
            var start = ascii.count
            var rest = magnitude
            repeat {
                start -= 1
                ascii[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(
                UnsafeBufferPointer(rebasing: ascii[start...]), fraction: UnsafeBufferPointer(start: nil, count: 0),
                isNegative, least: layout.precision.map { Int($0) }, layout, to: &output)
        }
    }

    /// Rounds as printf does, to six decimals unless the layout says otherwise.
    func append(_ value: Double, _ layout: FormatLayout, to output: inout FormatOutput) {
        // A double has at most 309 digits before the point, and the layout at most 99 after it.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { text in
            let arguments: [any CVarArg] = [Int32(layout.precision ?? 6), abs(value)]
            let count = withVaList(arguments) { vsnprintf(text.baseAddress, text.count, "%.*f", $0) }
            text.withMemoryRebound(to: UInt8.self) { text in
                let ascii = text[..<Int(count)]
                let point = ascii.firstIndex(of: UInt8(ascii: ".")) ?? ascii.endIndex
                append(
                    UnsafeBufferPointer(rebasing: ascii[..<point]),
                    fraction: UnsafeBufferPointer(rebasing: ascii[point...].dropFirst()), value < 0, least: nil,
                    layout, to: &output)
            }
        }
    }

    /// Takes ASCII digits; `least` is how many there must be before the separator, nil for one.
    private func append(
        _ whole: UnsafeBufferPointer<UInt8>, fraction: UnsafeBufferPointer<UInt8>, _ isNegative: Bool, least: Int?,
        _ layout: FormatLayout, to output: inout FormatOutput
    ) {
        let sign = sign(isNegative, layout)
        let suffix = isNegative ? negativeSuffix : Symbol()
        let fillsWithZeros = layout.fillsWithZeros && least == nil
        let least = least ?? 1
        var count = max(whole.count, least)
        // A number filled up with zeros is a code rather than a count: groups would tear it apart.
        let isGrouped = !fillsWithZeros && least <= 1 && primaryGroup > 0 && count >= leastGrouped
        let groups = isGrouped ? 1 + (count - primaryGroup - 1) / secondaryGroup : 0
        let decimals = fraction.isEmpty ? 0 : decimalSeparator.characters + fraction.count
        let width = sign.characters + count + groups * groupSeparator.characters + decimals + suffix.characters
        let missing = max(0, Int(layout.width) - width)
        if fillsWithZeros { count += missing }
        let padding = fillsWithZeros ? 0 : missing

        if !layout.isLeft { output.appendSpaces(padding) }
        output.append(sign.bytes)
        for remaining in stride(from: count, to: 0, by: -1) {
            append(remaining > whole.count ? UInt8(ascii: "0") : whole[whole.count - remaining], to: &output)
            if isGrouped, isGroupEnd(remaining - 1) { output.append(groupSeparator.bytes) }
        }
        if !fraction.isEmpty {
            output.append(decimalSeparator.bytes)
            for digit in fraction { append(digit, to: &output) }
        }
        output.append(suffix.bytes)
        if layout.isLeft { output.appendSpaces(padding) }
    }

    /// Whether a separator stands before the last `remaining` digits.
    private func isGroupEnd(_ remaining: Int) -> Bool {
        remaining >= primaryGroup && (remaining - primaryGroup).isMultiple(of: secondaryGroup)
    }

    private func sign(_ isNegative: Bool, _ layout: FormatLayout) -> Symbol {
        if isNegative { return negativePrefix }
        return switch layout.sign {
        case .negativeOnly: Symbol()
        case .plus: plus
        case .space: Symbol(bytes: [UInt8(ascii: " ")], characters: 1)
        }
    }

    private func append(_ digit: UInt8, to output: inout FormatOutput) {
        if hasASCIIDigits {
            output.append(digit)
        } else {
            output.append(digits[Int(digit &- UInt8(ascii: "0"))].bytes)
        }
    }
}
