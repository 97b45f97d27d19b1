/// Words that stand for others.
enum StandIn {
    static func bytes(_ bytes: [UInt8]) -> [UInt8] {
        guard (try? UTF8Span(validating: bytes.span)) != nil else {
            var hash = Hash(bytes)
            return bytes.map { _ in UInt8(truncatingIfNeeded: hash.next()) }
        }
        return Array(text(String(decoding: bytes, as: UTF8.self)).utf8)
    }

    /// Punctuation and spaces stay where they are, and so does the word that marks a contact.
    static func text(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var word: [Unicode.Scalar] = []
        func flush() {
            result.append(contentsOf: standIn(word, isMark: result.last == "{"))
            word.removeAll()
        }
        for scalar in text.unicodeScalars {
            if scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
                word.append(scalar)
            } else {
                flush()
                result.append(scalar)
            }
        }
        flush()
        return String(result)
    }

    /// As long, and a number again: its exponent stays.
    static func number(_ spelling: String) -> String {
        let mantissa = spelling.prefix { $0 != "e" && $0 != "E" }
        var text = Array(text(String(mantissa)))
        // A number of several digits does not begin with 0.
        if let first = text.firstIndex(where: \.isNumber), text[first] == "0", spelling.count > 1 { text[first] = "1" }
        return String(text) + spelling.dropFirst(mantissa.count)
    }

    private static func standIn(_ word: [Unicode.Scalar], isMark: Bool) -> [Unicode.Scalar] {
        if isMark, word.elementsEqual("contact".unicodeScalars) { return word }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: word)
        var hash = Hash(Array(String(text).utf8))
        return word.map { replacement(of: $0, hash.next()) }
    }

    /// Of the same kind, and of as many bytes.
    private static func replacement(of scalar: Unicode.Scalar, _ random: UInt32) -> Unicode.Scalar {
        for range in ranges where range.contains(scalar.value) {
            return Unicode.Scalar(range.lowerBound + random % UInt32(range.count)) ?? scalar
        }
        switch scalar.utf8.count {
        case 2: return "é"
        case 3: return "字"
        default: return "𝐚"
        }
    }

    /// Letters without a gap between: digits, Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, kana, Hangul, Han.
    private static let ranges: [ClosedRange<UInt32>] = [
        0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0x391...0x3A1, 0x3B1...0x3C9, 0x410...0x42F,
        0x430...0x44F, 0x5D0...0x5EA, 0x628...0x63A, 0x641...0x64A, 0x905...0x939, 0x3041...0x3096, 0x30A1...0x30FA,
        0xAC00...0xD7A3, 0x4E00...0x9FA5,
    ]

    /// FNV-1a, then a step of xorshift for each letter: the same in every process.
    private struct Hash {
        private var state: UInt64

        init(_ bytes: [UInt8]) {
            state = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } | 1
        }

        mutating func next() -> UInt32 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt32(truncatingIfNeeded: state >> 24)
        }
    }
}
