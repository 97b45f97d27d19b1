/// A ciphertext as a producer sends it.
package struct SealedText: Sendable {
    package let text: String
    /// The sender's public key and the salt, which web push's older form sends beside it.
    package var draft: (point: String, salt: String)?

    init(_ text: String) { self.text = text }

    /// In base64.
    init(_ bytes: [UInt8]) { text = Self.base64(bytes) }

    static func base64(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        bytes.withUnsafeBytes { Base64.encode($0, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        String(
            base64(bytes).compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
