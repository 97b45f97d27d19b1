/// What follows a percent sign in a format.
struct FormatSpecifier {
    enum Conversion {
        case percent
        /// `%#@name@`
        case variable(ArraySlice<UInt8>)
        /// `%arg`
        case argument
        /// One argument. `unservable` is known to printf, but no push can carry it, such as `%x`, `%c`, `%p` or `%*d`.
        case piece(FormatPiece.Kind)
    }

    var conversion: Conversion
    /// From 1; nil if not written.
    var position: Int?
    var layout = FormatLayout()

    enum Parsed {
        case specifier(FormatSpecifier, end: Int)
        /// A percent sign in prose, such as `100%.` or `20% when` or, in Turkish, `%300 bonus`.
        case literal
        case unknown(String)
    }

    /// Takes the index after the percent sign.
    static func parse(_ text: ArraySlice<UInt8>, at start: Int) -> Parsed {
        var parser = FormatSpecifierParser(text: text, at: start)
        if let specifier = parser.parse() { return .specifier(specifier, end: parser.at) }
        let tried = text[start..<min(parser.at + 1, text.endIndex)]
        let isTelling = tried.contains(where: FormatSpecifierParser.isTelling)
        if !isTelling || tried.first == UInt8(ascii: " ") && !parser.isOutOfRange { return .literal }
        return .unknown("%" + String(decoding: tried, as: UTF8.self))
    }
}

/// Flags, width and precision, as printf has them.
struct FormatLayout {
    var isLeft = false
    var hasZeros = false
    var sign = Sign.negativeOnly
    var width: UInt8 = 0
    var precision: UInt8?

    var fillsWithZeros: Bool { hasZeros && !isLeft }

    enum Sign: UInt8 { case negativeOnly, plus, space }
}

struct FormatSpecifierParser {
    let text: ArraySlice<UInt8>
    /// How far it has read.
    private(set) var at: Int
    /// A position, width or precision is larger than any that makes sense.
    private(set) var isOutOfRange = false

    var next: UInt8? { at < text.endIndex ? text[at] : nil }

    /// True for a byte that must have been meant as a part of a specifier.
    static func isTelling(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || "$#@".utf8.contains(byte)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    /// Nil without digits. A number over the limit sets `isOutOfRange`.
    private mutating func number(upTo limit: Int) -> Int? {
        var value: Int?
        while let digit = next.map({ Int($0) - 0x30 }), (0...9).contains(digit) {
            value = min((value ?? 0) * 10 + digit, limit + 1)
            at += 1
        }
        if let value, value > limit { isOutOfRange = true }
        return value
    }

    /// Nil if it is not a specifier; `at` is then where parsing stopped.
    mutating func parse() -> FormatSpecifier? {
        if take("%") { return FormatSpecifier(conversion: .percent) }
        if text[at...].starts(with: "arg".utf8) {
            at += 3
            return FormatSpecifier(conversion: .argument)
        }
        let position = parsePosition()
        if text[at...].starts(with: "#@".utf8) { return parseVariable(position) }
        var (layout, isUnservable) = parseFlags()
        if take("*") { isUnservable = true }
        layout.width = UInt8(clamping: number(upTo: 255) ?? 0)
        if take(".") {
            if take("*") { isUnservable = true }
            layout.precision = UInt8(clamping: number(upTo: 99) ?? 0)
        }
        guard !isOutOfRange, let kind = parseKind() else { return nil }
        return FormatSpecifier(
            conversion: .piece(isUnservable ? .unservable : kind), position: position, layout: layout)
    }

    /// Digits are a position only if a dollar sign follows.
    private mutating func parsePosition() -> Int? {
        let start = at
        guard let number = number(upTo: FormatArgument.maximumCount), number > 0, take("$") else {
            isOutOfRange = false
            at = start
            return nil
        }
        return number
    }

    private mutating func parseVariable(_ position: Int?) -> FormatSpecifier? {
        let start = at + 2
        guard let end = text[start...].firstIndex(of: UInt8(ascii: "@")), end > start else { return nil }
        at = end + 1
        return FormatSpecifier(conversion: .variable(text[start..<end]), position: position)
    }

    private mutating func parseFlags() -> (FormatLayout, isUnservable: Bool) {
        var layout = FormatLayout()
        var isUnservable = false
        while let flag = next {
            switch flag {
            case UInt8(ascii: "-"): layout.isLeft = true
            case UInt8(ascii: "0"): layout.hasZeros = true
            case UInt8(ascii: "+"): layout.sign = .plus
            case UInt8(ascii: " "): if layout.sign != .plus { layout.sign = .space }
            // A locale's numbers are grouped anyway.
            case UInt8(ascii: "'"): break
            // Only `%x` and the like use it.
            case UInt8(ascii: "#"): isUnservable = true
            default: return (layout, isUnservable)
            }
            at += 1
        }
        return (layout, isUnservable)
    }

    private static let kinds: [(letters: String, kind: FormatPiece.Kind)] = [
        ("@", .text), ("diuDU", .integer), ("fF", .float), ("xXoOeEgGaAcCsSpP", .unservable),
    ]

    private mutating func parseKind() -> FormatPiece.Kind? {
        while let byte = next, "hlqjztL".utf8.contains(byte) { at += 1 }
        guard let letter = next, let found = Self.kinds.first(where: { $0.letters.utf8.contains(letter) }) else {
            return nil
        }
        at += 1
        return found.kind
    }
}
