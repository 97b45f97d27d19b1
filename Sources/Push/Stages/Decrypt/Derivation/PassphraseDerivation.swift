import CPushmillOpenSSL

/// How `openssl enc` makes a key and an initial value of a passphrase and the salt that a message brings.
package enum PassphraseDerivation: Sendable, Equatable {
    /// `EVP_BytesToKey` with one round.
    case md5
    case sha256
    /// PBKDF2 with SHA-256: milliseconds of work, made not to be quick.
    case iterated(Int)

    package enum Digest: String, CaseIterable, Sendable {
        case md5, sha256
    }

    package static let iterationLimits = 1...10_000_000
    static let saltCount = 8
    static let keyCount = 32
    /// Key and initial value.
    static let count = keyCount + Cipher.blockCount

    /// PBKDF2, if there are iterations. Nil for that with MD5, which is not read here.
    package init?(_ digest: Digest, iterations: Int?) {
        switch (digest, iterations) {
        case (.sha256, let iterations?): self = .iterated(iterations)
        case (.sha256, nil): self = .sha256
        case (.md5, nil): self = .md5
        case (.md5, _?): return nil
        }
    }

    /// Writes `count` bytes, and perhaps more of the output's 64.
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
        guard status == 1 else {
            ERR_clear_error()
            throw .unsupported
        }
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
