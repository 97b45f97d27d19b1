import PushmillTestSupport

extension SeededGenerator {
    private static let tokens = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud83d", "\\udc4d", "\\n", "null", "true", "1e", "-", "0",
        ".", "1.5e-7",
        "\"a\":", "\"aps\":{", "\"alert\":", "é", "👋", "\u{FEFF}", "\0", "\u{1F}", " ", "\n", "1e999",
        "99999999999999999999",
    ]

    /// Changes one to four places: flips, inserts, removes, doubles or cuts off bytes, or inserts a JSON token.
    mutating func mutate(_ bytes: inout [UInt8]) {
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let at = Int.random(in: 0...bytes.count, using: &self)
            let end = min(bytes.count, at + Int.random(in: 0...8, using: &self))
            switch Int.random(in: 0..<7, using: &self) {
            case 0 where at < bytes.count: bytes[at] = UInt8.random(in: .min ... .max, using: &self)
            case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 2: bytes.insert(UInt8.random(in: .min ... .max, using: &self), at: at)
            case 3: bytes.removeSubrange(at..<end)
            case 4: bytes.insert(contentsOf: bytes[at..<end], at: at)
            case 5 where chance(20): bytes.removeSubrange(at...)
            default: bytes.insert(contentsOf: pick(Self.tokens).utf8, at: at)
            }
        }
    }
}
