@testable import PushmillPayload

extension JSONDocument {
    var text: String {
        var output: [UInt8] = []
        render(into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    func text(at pointer: JSONPointer) -> String? {
        guard let node = node(at: pointer) else { return nil }
        var output: [UInt8] = []
        render(node, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @discardableResult
    mutating func set(_ text: String, at pointer: JSONPointer) -> Bool { set(at: pointer) { $0.append(text) } }

    @discardableResult
    mutating func set(_ text: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        text.withUnsafeBufferPointer { text in set(at: pointer) { $0.append(text) } }
    }

    @discardableResult
    mutating func set(_ number: Int, at pointer: JSONPointer) -> Bool { set(at: pointer) { $0.append(number) } }

    mutating func read(_ text: String) throws(PayloadError) { try read(Array(text.utf8)) }

    mutating func read(_ bytes: [UInt8]) throws(PayloadError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(PayloadError) in try read(UnsafeRawBufferPointer(bytes)) }
    }
}

extension JSONPointer {
    init?(path: [String]) {
        var text = ""
        for token in path {
            text += "/"
            for character in token.unicodeScalars {
                switch character {
                case "~": text += "~0"
                case "/": text += "~1"
                default: text.unicodeScalars.append(character)
                }
            }
        }
        self.init(text)
    }
}

extension String {
    /// Without leading and trailing white space.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
