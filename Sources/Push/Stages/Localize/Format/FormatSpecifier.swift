/// What follows a percent sign in a format.
struct FormatSpecifier {
    enum Conversion {
        case percent
        /// `%@`
        case text
        case integer
        case float
        /// `%#@name@`
        case variable(ArraySlice<UInt8>)
        /// `%arg`
        case argument
        /// printf knows it, but no push can carry its argument: `%x`, `%c`, `%p`, `%*d` and the like.
        case unservable
    }

    var conversion: Conversion
    /// From 1, where it is written.
    var position: Int?
    var layout = FormatLayout()

    enum Parsed {
        case specifier(FormatSpecifier, end: Int)
        /// A percent sign in prose, such as `100%.` or `20% when`.
        case literal
        case unknown(String)
    }

    /// Takes the index after the percent sign.
    static func parse(_ text: ArraySlice<UInt8>, at start: Int) -> Parsed {
        var parser = FormatSpecifierParser(text: text, at: start)
        if let specifier = parser.parse() { return .specifier(specifier, end: parser.at) }
        let tried = text[start..<min(parser.at + 1, text.endIndex)]
        let isProse = tried.first == UInt8(ascii: " ") || !tried.contains(where: FormatSpecifierParser.isTelling)
        if isProse, !parser.isOutOfRange { return .literal }
        return .unknown("%" + String(decoding: tried, as: UTF8.self))
    }
}
