/// A location in a document by RFC 6901, parsed once.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    struct Token: Sendable, Hashable {
        /// Offsets in `names`.
        let start: Int
        let end: Int
        /// The index that the token means in an array; nil if it is none.
        let position: Int?
    }

    /// For example `/aps/alert/body`.
    public let description: String
    /// The alert text that this pointer names, even if the alert is a string.
    package let alertText: AlertText?
    private(set) var tokens: [Token] = []
    private var names: [UInt8] = []

    /// Nil if it does not begin with a slash, if a `~` is followed by neither 0 nor 1, or if no document is that deep.
    public init?(_ text: String) {
        description = text
        alertText = AlertText.allCases.first { "/aps/alert/\($0.member)" == text }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts[0].isEmpty, parts.count <= JSONDocument.maximumDepth + 1 else { return nil }
        for part in parts.dropFirst() {
            let start = names.count
            var rest = part.makeIterator()
            while let byte = rest.next() {
                guard byte == UInt8(ascii: "~") else {
                    names.append(byte)
                    continue
                }
                switch rest.next() {
                case UInt8(ascii: "0"): names.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): names.append(UInt8(ascii: "/"))
                default: return nil
                }
            }
            endToken(start)
        }
    }

    /// A member of the root; `name` is not escaped.
    public init(member name: String) { self.init(names: [name], alertText: nil) }

    public init(_ text: AlertText) { self.init(names: ["aps", "alert", "\(text.member)"], alertText: text) }

    private init(names: [String], alertText: AlertText?) {
        description = names.map { "/\(Self.escaped($0))" }.joined()
        self.alertText = alertText
        for name in names {
            let start = self.names.count
            self.names += Array(name.utf8)
            endToken(start)
        }
    }

    /// Works on scalars, because a combining mark after a slash forms one character with it.
    static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { "~/".utf8.contains($0) }) else { return name }
        return name.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
    }

    private mutating func endToken(_ start: Int) {
        let name = String(decoding: names[start...], as: UTF8.self)
        let isPosition = name == "0" || !name.hasPrefix("0") && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
        tokens.append(Token(start: start, end: names.count, position: isPosition ? Int(name) : nil))
    }

    /// `-` means the element after an array's last.
    func appends(_ token: Token) -> Bool {
        token.end == token.start + 1 && names[token.start] == UInt8(ascii: "-")
    }

    func withName<R>(of token: Token, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        names.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[token.start..<token.end])) }
    }
}
