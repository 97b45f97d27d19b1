import CPushmillOpenSSL
import PushmillPayload

/// The output of `openssl enc -aes-256-cbc`: `Salted__`, a salt, blocks. Nothing authenticates it, so all faults look
/// the same: an attacker who can try ciphertexts could decrypt by the difference.
struct OpenSSLForm {
    static let magic: StaticString = "Salted__"
    static let headerCount = 8 + PassphraseDerivation.saltCount

    /// No text within the plaintext limit needs more bytes.
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

    /// The salt's bytes in memory order.
    var salt: UInt64 { data.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }

    /// Decrypts in place with the derived key and initial value. Returns UTF-8.
    func open(
        _ derived: UnsafeRawPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let key = CipherKey(UnsafeRawBufferPointer(start: derived, count: PassphraseDerivation.keyCount))
        let text = UnsafeMutableRawBufferPointer(rebasing: data[Self.headerCount...])
        let (count, isPadded) = try scratch.ciphers[.aes256CBC, key].openBlocks(
            .aes256CBC, key, iv: derived + PassphraseDerivation.keyCount, text)
        let plain = UnsafeMutableRawBufferPointer(rebasing: text[..<count])
        // Checked even if the padding is wrong, so both cases take equally long.
        let isText = UTF8Scalar.isText(UnsafeRawBufferPointer(plain))
        guard isText, isPadded, count <= DecryptScratch.plaintextLimit else { throw .authentication }
        return plain
    }
}

/// How `openssl enc` derives a key and an initial value from a passphrase and the message's salt.
package enum PassphraseDerivation: Sendable, Equatable {
    /// `EVP_BytesToKey` with one round.
    case md5
    case sha256
    /// PBKDF2 with SHA-256: slow by design, milliseconds of work.
    case iterated(Int)

    package enum Digest: String, CaseIterable, Sendable {
        case md5, sha256
    }

    package static let iterationLimits = 1...10_000_000
    static let saltCount = 8
    static let keyCount = 32
    /// Key and initial value.
    static let count = keyCount + Cipher.blockCount

    /// PBKDF2 if iterations are given. Nil for PBKDF2 with MD5, which is not supported.
    package init?(_ digest: Digest, iterations: Int?) {
        switch (digest, iterations) {
        case (.sha256, let iterations?): self = .iterated(iterations)
        case (.sha256, nil): self = .sha256
        case (.md5, nil): self = .md5
        case (.md5, _?): return nil
        }
    }

    /// Writes `count` bytes.
    func derive(
        _ passphrase: SecretBytes, salt: UInt64, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) {
        let output = output.assumingMemoryBound(to: UInt8.self)
        let length = Int32(passphrase.count)
        let status = withUnsafeBytes(of: salt) { salt in
            withExtendedLifetime(passphrase) {
                let salt = salt.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let text = passphrase.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                if case .iterated(let iterations) = self {
                    return PKCS5_PBKDF2_HMAC(
                        UnsafeRawPointer(text)?.assumingMemoryBound(to: CChar.self), length, salt,
                        Int32(Self.saltCount), Int32(clamping: iterations), EVP_sha256(), Int32(Self.count), output)
                }
                return EVP_BytesToKey(
                    EVP_aes_256_cbc(), self == .md5 ? Self.md5Hash : Self.sha256Hash, salt, text, length, 1,
                    output, output + Self.keyCount)
            }
        }
        try check(status)
    }

    // Fetched once because a fetch takes locks; immutable and kept for the life of the process.
    nonisolated(unsafe) private static let md5Hash = EVP_MD_fetch(nil, "MD5", nil)
    nonisolated(unsafe) private static let sha256Hash = EVP_MD_fetch(nil, "SHA256", nil)
}
