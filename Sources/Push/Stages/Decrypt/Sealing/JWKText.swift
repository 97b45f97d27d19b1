extension JSONText {
    /// Members with strings for values, without the braces around them.
    static func members(_ members: [(name: String, value: String)]) -> String {
        var text: [UInt8] = []
        for (name, value) in members {
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            for (part, end) in [(name, ":"), (value, "")] {
                Array(part.utf8).withUnsafeBufferPointer { appendQuoted($0, to: &text) }
                text += Array(end.utf8)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension EllipticKey {
    /// The members of a JWK that say which point it is.
    var publicMembers: [(name: String, value: String)] {
        [
            ("kty", "EC"), ("crv", "P-256"), ("x", Base64.urlText(Array(point[1...32]))),
            ("y", Base64.urlText(Array(point[33...]))),
        ]
    }
}
