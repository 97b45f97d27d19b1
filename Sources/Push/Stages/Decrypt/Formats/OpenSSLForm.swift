/// What `openssl enc -aes-256-cbc` writes: `Salted__`, a salt, blocks. Nothing authenticates it.
struct OpenSSLForm {
    static let magic: StaticString = "Salted__"
    static let headerCount = 8 + PassphraseDerivation.saltCount

    private let data: UnsafeMutableRawBufferPointer

    static func isLike(_ data: UnsafeMutableRawBufferPointer) -> Bool {
        data.count >= 8 && (0..<8).allSatisfy { data[$0] == magic.utf8Start[$0] }
    }

    init(_ data: UnsafeMutableRawBufferPointer) throws(DecryptFailure) {
        guard data.count > Self.headerCount, data.count % Cipher.blockCount == 0 else { throw .malformed }
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
        guard let start = derived.bytes.baseAddress else { throw .malformed }
        return try withExtendedLifetime(derived) { () throws(DecryptFailure) in try open(start, &scratch) }
    }

    private func open(
        _ derived: UnsafeRawPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let key = CipherKey(UnsafeRawBufferPointer(start: derived, count: PassphraseDerivation.keyCount))
        let text = UnsafeMutableRawBufferPointer(rebasing: data[Self.headerCount...])
        let count = try scratch.ciphers[.aes256CBC, key].openBlocks(
            .aes256CBC, key, iv: derived + PassphraseDerivation.keyCount, text)
        return UnsafeMutableRawBufferPointer(rebasing: text[..<count])
    }
}
