/// What the decrypt stage is to do.
package struct DecryptOptions: Sendable {
    package final class Field: Sendable {
        package enum Target: Sendable {
            case member(JSONPointer)
            /// The plaintext is an object, of which the listed members go into the alert and the payload.
            case merge
        }

        package static let standardMembers = AlertText.allCases.map { "\($0.member)" }

        package let from: JSONPointer
        package let target: Target
        /// What is taken of an object that is merged, in UTF-8. What else it holds may be no one's to read.
        let members: [[UInt8]]
        /// The text of the alert that the target is.
        let text: AlertText?
        /// The ciphertext gives its place to the plaintext.
        let isInPlace: Bool

        package init(
            from: JSONPointer = JSONPointer(member: "ENCRYPTED_DATA"), to target: Target = .member(JSONPointer(.body)),
            members: [String] = standardMembers
        ) {
            self.from = from
            self.target = target
            self.members = members.map { Array($0.utf8) }
            switch target {
            case .member(let pointer): (text, isInPlace) = (pointer.alertText, pointer == from)
            case .merge: (text, isInPlace) = (nil, false)
            }
        }
    }

    /// What nothing authenticates is read only where it is named.
    package var formats: [CiphertextFormat] = [.jwe, .aesGCM, .chaCha20, .webPush]
    package var derivation = PassphraseDerivation.sha256
    /// Where web push's older form keeps the sender's public key and the salt.
    package var draft = (point: JSONPointer(member: "k"), salt: JSONPointer(member: "s"))
    package var keyNames = [
        ValueSource.member(JSONPointer(member: "ENCRYPTION_KEY_ID")), .header(Array("encryption-key-id".utf8)),
        .recipient,
    ]
    /// The key that has the recipient's name is the only one, whatever the message and the ciphertext say.
    package var bindsKeys = false
    /// How long keys that were replaced open what was on its way.
    package var keyGrace = KeySetFile.grace
    package var fields = [Field()]
    package var placeholder = "(Encrypted)"
    /// A message without the ciphertext is not to be taken for one that had it.
    package var isRequired = false

    package init() {}
}
