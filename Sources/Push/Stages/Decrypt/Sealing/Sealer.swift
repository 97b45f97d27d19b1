/// Makes ciphertexts, so that a producer can be tried against what it should have sent.
package struct Sealer {
    /// What a form leaves open.
    package struct Choices: Sendable {
        package var derivation = PassphraseDerivation.sha256
        /// A JWE's `alg`, for keys that serve several; else the key's own.
        package var algorithm: String?
        /// A JWE's `enc`; else the strongest that goes with the key.
        package var encryption: String?

        package init() {}
    }

    /// A JWE's `alg`, and its `enc`.
    package static let algorithms = JWEAlgorithm.named.map(\.key)
    package static let encryptions = JWEEncryption.allCases.map(\.rawValue)
    /// The longest text, in bytes, that the stage shows.
    package static let textLimit = DecryptScratch.plaintextLimit

    private let context: SealingContext
    private let choices: Choices

    package init(_ choices: Choices = Choices()) throws(DecryptFailure) {
        context = try SealingContext()
        self.choices = choices
    }

    /// The key is the ring's first that serves the form, or the one of that name.
    package func seal(
        _ text: [UInt8], as form: SealingForm, _ ring: KeyRing, keyName: String? = nil
    ) throws(DecryptFailure) -> SealedText {
        guard form != .rot13 else { return rot13(text) }
        let key = ring.keys.first { form.keyUses.contains($0.use) && (keyName == nil || $0.name == keyName) }
        guard let key else { throw .noKey }
        switch form {
        case .jwe: return try JWESealing(key, choices, context).seal(text)
        case .openSSL: return try openSSL(text, key)
        case .aesGCM: return try combined(text, key.use == .gcm128 ? .aes128GCM : .aes256GCM, key)
        case .chaCha20: return try combined(text, .chacha20Poly1305, key)
        case .webPush: return try WebPushSealing(key, context).seal(text)
        case .webPushDraft: return try WebPushSealing(key, context).sealDraft(text)
        case .rot13: return rot13(text)
        }
    }

    private func rot13(_ text: [UInt8]) -> SealedText {
        var output = text
        output.withUnsafeMutableBytes { output in text.withUnsafeBytes { Rot13.turn($0, into: output) } }
        return SealedText(String(decoding: output, as: UTF8.self))
    }

    private func combined(_ text: [UInt8], _ cipher: Cipher, _ key: DecryptionKey) throws(DecryptFailure) -> SealedText
    {
        let nonce = try context.random(Cipher.nonceCount)
        let sealed = try context.seal(cipher, key: Array(key.secret.bytes), nonce: nonce, text)
        return SealedText(nonce + sealed.text + sealed.tag)
    }

    private func openSSL(_ text: [UInt8], _ key: DecryptionKey) throws(DecryptFailure) -> SealedText {
        let salt = try context.random(PassphraseDerivation.saltCount)
        let number = salt.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let room = context.scratch.secrets[.contentKey]
        try choices.derivation.derive(key.secret, salt: number, into: room, context.scratch)
        let derived = Array(UnsafeRawBufferPointer(start: room, count: PassphraseDerivation.count))
        let blocks = try context.sealBlocks(
            .aes256CBC, key: Array(derived[..<PassphraseDerivation.keyCount]),
            iv: Array(derived[PassphraseDerivation.keyCount...]), text)
        return SealedText(Array("Salted__".utf8) + salt + blocks)
    }
}
