/// A ciphertext as a producer sends it.
package struct SealedText: Sendable {
    package let text: String
    /// The sender's public key and the salt, which web push's older form sends beside it.
    package var draft: (point: String, salt: String)?

    init(_ text: String) { self.text = text }

    /// In base64.
    init(_ bytes: [UInt8]) {
        var text: [UInt8] = []
        bytes.withUnsafeBytes { Base64.encode($0, into: &text) }
        self.text = String(decoding: text, as: UTF8.self)
    }
}
