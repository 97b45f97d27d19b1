/// A number out of a text such as `-12`, `1.5` or `1e3`.
enum FormatNumber {
    case integer(magnitude: UInt64, isNegative: Bool)
    case fraction(Double)

    init?(_ text: UnsafeBufferPointer<UInt8>) {
        var magnitude: UInt64 = 0
        let signs = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? 1 : 0
        let digits = UnsafeBufferPointer(rebasing: text[signs...])
        for byte in digits {
            let digit = UInt64(byte) &- 0x30
            let (tens, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(digit)
            guard digit < 10, !overflow, !carry else {
                guard let value = Self.fraction(text) else { return nil }
                self = value
                return
            }
            magnitude = sum
        }
        guard !digits.isEmpty else { return nil }
        self = .integer(magnitude: magnitude, isNegative: text[0] == UInt8(ascii: "-") && magnitude > 0)
    }

    /// Whole ones as integers, as far as a double is exact.
    private static func fraction(_ text: UnsafeBufferPointer<UInt8>) -> FormatNumber? {
        // `Double` would read `inf`, `nan` and hexadecimal as well.
        guard text.count < 400, text.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
            let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else { return nil }
        guard value == value.rounded(), abs(value) < 0x1p53 else { return .fraction(value) }
        return .integer(magnitude: UInt64(abs(value)), isNegative: value < 0)
    }

    var value: Double {
        switch self {
        case .integer(let magnitude, let isNegative): isNegative ? -Double(magnitude) : Double(magnitude)
        case .fraction(let value): value
        }
    }

    /// Zero, which is not only a category but has a form of its own in every language.
    var isZero: Bool { value == 0 }

    func category(by rules: PluralRules) -> PluralCategory {
        switch self {
        case .integer(let magnitude, _): rules.category(ofMagnitude: magnitude)
        case .fraction(let value): rules.category(ofMagnitude: abs(value))
        }
    }
}
