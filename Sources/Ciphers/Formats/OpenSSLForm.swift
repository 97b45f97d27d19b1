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

    /// Writes at least `count` bytes; `output` must have room for 64.
    func derive(
        _ passphrase: SecretBytes, salt: UInt64, into output: UnsafeMutableRawPointer,
        _ scratch: borrowing DecryptScratch
    ) throws(DecryptFailure) {
        switch self {
        case .md5: try Self.chain(scratch.digests.md5, passphrase, salt, output)
        case .sha256: try Self.chain(scratch.digests.sha256, passphrase, salt, output)
        case .iterated(let iterations): try Self.iterate(iterations, passphrase, salt, into: output)
        }
    }

    static func iterate(
        _ iterations: Int, _ passphrase: SecretBytes, _ salt: UInt64, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) {
        let status = withUnsafeBytes(of: salt) { salt in
            withExtendedLifetime(passphrase) {
                PKCS5_PBKDF2_HMAC(
                    passphrase.bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(passphrase.count),
                    salt.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(salt.count),
                    Int32(clamping: iterations), EVP_sha256(), Int32(count),
                    output.assumingMemoryBound(to: UInt8.self))
            }
        }
        try check(status)
    }

    /// Each hash is over the one before it, the passphrase and the salt.
    private static func chain(
        _ hash: DigestContext, _ passphrase: SecretBytes, _ salt: UInt64, _ output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) {
        for start in stride(from: 0, to: count, by: hash.count) {
            try hash.begin()
            if start > 0 {
                try hash.add(UnsafeRawBufferPointer(start: output + start - hash.count, count: hash.count))
            }
            try withExtendedLifetime(passphrase) { () throws(DecryptFailure) in try hash.add(passphrase.bytes) }
            try withUnsafeBytes(of: salt) { (salt) throws(DecryptFailure) in try hash.add(salt) }
            try hash.end(into: output + start)
        }
    }
}
