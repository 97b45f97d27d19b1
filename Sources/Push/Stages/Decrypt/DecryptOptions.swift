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
        /// Of the ciphertext.
        let encoding: BinaryEncoding
        /// The texts are written as in HTML.
        let hasEntities: Bool
        /// The text of the alert that the target is.
        let text: AlertText?
        /// The ciphertext gives its place to the plaintext.
        let isInPlace: Bool

        package init(
            from: JSONPointer = JSONPointer(member: "ENCRYPTED_DATA"), to target: Target = .member(JSONPointer(.body)),
            members: [String] = standardMembers, encoding: BinaryEncoding = .auto, hasEntities: Bool = false
        ) {
            self.from = from
            self.target = target
            self.members = members.map { Array($0.utf8) }
            self.encoding = encoding
            self.hasEntities = hasEntities
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
    package var draft = (point: DraftValue("dh", member: "k"), salt: DraftValue("salt", member: "s"))
    package var keyNames = [
        ValueSource.member(JSONPointer(member: "ENCRYPTION_KEY_ID")), .header(Array("encryption-key-id".utf8)),
        .recipient,
    ]
    /// The key that has the recipient's name is the only one, whatever the message and the ciphertext say.
    package var bindsKeys = false
    /// How long keys that were replaced open what was on its way.
    package var keyGrace = KeySetFile.grace
    package var fields = [Field()]
    /// What is shown of a text that cannot be read: the catalog's text of this key, or else the words themselves. Nil
    /// leaves the alert as it came.
    package var placeholder: String? = "(Encrypted)"
    /// A message without the ciphertext is not to be taken for one that had it.
    package var isRequired = false

    package init() {}
}

/// One of the two values that come beside the ciphertext in web push's older form.
package struct DraftValue: Sendable {
    var from: ValueSource
    package var encoding = BinaryEncoding.auto
    /// What it is called in the draft's headers, `Crypto-Key` and `Encryption`.
    let parameter: StaticString
    /// The text is such a header as it came.
    package var isInHeader = false

    init(_ parameter: StaticString, member: String) {
        self.parameter = parameter
        from = .member(JSONPointer(member: member))
    }

    /// Nil where there is none.
    func bytes(_ content: NotificationContent, _ context: StageContext) -> [UInt8]? {
        from.withBytes(content, context) { bytes(in: $0) } ?? nil
    }

    /// Nil for a header without it.
    func bytes(in text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard isInHeader else { return BinaryText.bytes(text.span, as: encoding) }
        return Self.value(of: parameter, in: text).map { BinaryText.bytes($0.span, as: encoding) }
    }

    /// The value in a line such as `keyid=p256dh;dh="BN…",p256ecdsa=…`; the first, where there are several.
    private static func value(
        of parameter: StaticString, in line: UnsafeBufferPointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8>? {
        let name = UnsafeBufferPointer(start: parameter.utf8Start, count: parameter.utf8CodeUnitCount)
        for part in line.split(whereSeparator: { ";,".utf8.contains($0) }) {
            guard let end = part.firstIndex(of: UInt8(ascii: "=")),
                trim(part[..<end], " \t").elementsEqual(name, by: { $0 | 0x20 == $1 })
            else { continue }
            return UnsafeBufferPointer(rebasing: trim(trim(part[(end + 1)...], " \t"), "\""))
        }
        return nil
    }

    private static func trim(
        _ text: Slice<UnsafeBufferPointer<UInt8>>, _ bytes: String
    ) -> Slice<UnsafeBufferPointer<UInt8>> {
        var text = text.drop { bytes.utf8.contains($0) }
        while let last = text.last, bytes.utf8.contains(last) { text.removeLast() }
        return text
    }
}
