extension [UInt8] {
    /// A JSON string of at most about `limit` bytes of the text; what is cut off shows as "…".
    mutating func append(quoted text: String, limit: Int = .max) {
        append(UInt8(ascii: "\""))
        append(escaping: text, limit: limit)
        append(UInt8(ascii: "\""))
    }

    /// What could end a line or a string, or make a terminal act or read backwards, is escaped as JSON does it.
    mutating func append(escaping text: String, limit: Int = .max) {
        let start = count
        for scalar in text.unicodeScalars {
            guard count - start < limit else {
                self += "…".utf8
                return
            }
            switch scalar {
            case "\"": self += #"\""#.utf8
            case "\\": self += #"\\"#.utf8
            case "\n": self += #"\n"#.utf8
            case "\r": self += #"\r"#.utf8
            case "\t": self += #"\t"#.utf8
            case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                let digits = String(scalar.value, radix: 16)
                self += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
            default: self += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }
}
