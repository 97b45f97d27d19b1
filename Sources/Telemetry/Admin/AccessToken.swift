/// The secret that opens the pages: as a bearer token, or as the password that a browser asks for.
package struct AccessToken: Sendable {
    private let secret: [UInt8]

    /// Nil if the text is empty.
    package init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        secret = Array(text.utf8)
    }

    /// `Bearer <token>`, or `Basic` with any user name.
    func admits(_ authorization: String?) -> Bool {
        guard let parts = authorization?.split(separator: " ", maxSplits: 1), parts.count == 2 else { return false }
        switch parts[0].lowercased() {
        case "bearer": return isSecret(parts[1].utf8)
        case "basic":
            guard let pair = Self.decode(base64: parts[1].utf8), let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            else { return false }
            return isSecret(pair[(colon + 1)...])
        default: return false
        }
    }

    /// Takes the same time wherever the first difference is; only the length of what was sent shows.
    private func isSecret(_ sent: some Collection<UInt8>) -> Bool {
        var difference = sent.count ^ secret.count
        for (index, byte) in sent.enumerated() { difference |= Int(byte ^ secret[index % secret.count]) }
        return difference == 0
    }

    private static func decode(base64 text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text where character != UInt8(ascii: "=") {
            let digit: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): digit = 62
            case UInt8(ascii: "/"): digit = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(digit)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    package var description: String { "hidden" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
