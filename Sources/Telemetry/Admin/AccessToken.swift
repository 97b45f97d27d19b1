import FoundationEssentials

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
            let padding = String(repeating: "=", count: -parts[1].utf8.count & 3)
            guard let pair = Data(base64Encoded: parts[1] + padding), let colon = pair.firstIndex(of: UInt8(ascii: ":"))
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
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    package var description: String { "hidden" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
