/// What the decrypt stage is to do.
package struct DecryptOptions: Sendable {
    package final class Field: Sendable {
        package enum Target: Sendable {
            case member(JSONPointer)
            /// The plaintext is an object, whose members go into the alert and the payload.
            case merge

        }

        package let from: JSONPointer
        package let target: Target
        /// Of the ciphertext.
        let encoding: BinaryEncoding
        /// The text of the alert that the target is.
        let text: AlertText?
        /// The ciphertext gives its place to the plaintext.
        let isInPlace: Bool

        package init(
            from: JSONPointer = JSONPointer(member: "ENCRYPTED_DATA"), to target: Target = .member(JSONPointer(.body)),
            encoding: BinaryEncoding = .auto
        ) {
            self.from = from
            self.target = target
            self.encoding = encoding
            switch target {
            case .member(let pointer): (text, isInPlace) = (pointer.alertText, pointer == from)
            case .merge: (text, isInPlace) = (nil, false)
            }
        }
    }

    package var formats: [CiphertextFormat] = [.jwe, .openSSL, .aesGCM, .chaCha20, .webPush]
    package var derivation = PassphraseDerivation.sha256
    /// Where web push's older form keeps the sender's public key and the salt.
    package var draft = (point: DraftValue(member: "k"), salt: DraftValue(member: "s"))
    package var keyNames = [
        ValueSource.member(JSONPointer(member: "ENCRYPTION_KEY_ID")), .header(Array("encryption-key-id".utf8)),
        .recipient,
    ]
    package var fields = [Field()]
    package var placeholder = "(Encrypted)"
    /// A message without the ciphertext is not to be taken for one that had it.
    package var isRequired = false

    package init() {}
}

/// One of the two values that come beside the ciphertext in web push's older form.
package struct DraftValue: Sendable {
    var from: JSONPointer
    var encoding = BinaryEncoding.auto

    init(member: String) { from = JSONPointer(member: member) }

    /// Nil where there is none.
    func bytes(_ content: NotificationContent) -> [UInt8]? {
        content.withText(at: from) { BinaryText.bytes($0, as: encoding) }
    }
}
