/// What `openssl enc -aes-256-cbc` writes: `Salted__`, a salt, blocks. Nothing authenticates it, so that it fails in one
/// way only: who can try ciphertexts would decrypt by the difference.
struct OpenSSLForm {
    static let magic: StaticString = "Salted__"
    static let headerCount = 8 + PassphraseDerivation.saltCount

    /// What no text that may be shown needs.
    private static let limit = headerCount + DecryptScratch.plaintextLimit + Cipher.blockCount

    private let data: UnsafeMutableRawBufferPointer

    static func isLike(_ data: UnsafeMutableRawBufferPointer) -> Bool {
        data.count >= 8 && (0..<8).allSatisfy { data[$0] == magic.utf8Start[$0] }
    }

    init(_ data: UnsafeMutableRawBufferPointer) throws(DecryptFailure) {
        guard data.count > Self.headerCount, data.count % Cipher.blockCount == 0 else { throw .authentication }
        guard data.count <= Self.limit else { throw .tooLarge }
        self.data = data
    }

    /// As its bytes lie in memory.
    var salt: UInt64 { data.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }

    /// Decrypts in place, with a key that is quick to derive.
    func open(
        _ passphrase: SecretBytes, _ derivation: PassphraseDerivation, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let derived = scratch.secrets[.contentKey]
        try derivation.derive(passphrase, salt: salt, into: derived, scratch)
        return try open(derived, &scratch)
    }

    /// Decrypts in place, with key and initial value.
    func open(
        _ derived: SecretBytes, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard let start = derived.bytes.baseAddress else { throw .authentication }
        return try withExtendedLifetime(derived) { () throws(DecryptFailure) in try open(start, &scratch) }
    }

    /// Gives UTF-8.
    private func open(
        _ derived: UnsafeRawPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let key = CipherKey(UnsafeRawBufferPointer(start: derived, count: PassphraseDerivation.keyCount))
        let text = UnsafeMutableRawBufferPointer(rebasing: data[Self.headerCount...])
        let (count, isPadded) = try scratch.ciphers[.aes256CBC, key].openBlocks(
            .aes256CBC, key, iv: derived + PassphraseDerivation.keyCount, text)
        let plain = UnsafeMutableRawBufferPointer(rebasing: text[..<count])
        // Looked at whether the padding is right or wrong, so that both take as long.
        let isText = UTF8Scalar.isText(UnsafeRawBufferPointer(plain))
        guard isText, isPadded, count <= DecryptScratch.plaintextLimit else { throw .authentication }
        return plain
    }
}
