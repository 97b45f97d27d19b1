/// What decrypting needs beside the key: buffers and OpenSSL contexts, used again for every message. Of one thread at a
/// time.
final class DecryptScratch {
    /// The longest ciphertext that is read: hex of the longest plaintext.
    static let textLimit = 2 * plaintextLimit
    static let plaintextLimit = 64 << 10

    /// The ciphertext, and in its place the plaintext.
    var buffer = ScratchBuffer()
    var inflated = ScratchBuffer()
    var secrets = SecretCells()
    let ciphers: CipherContexts
    let md5: DigestContext
    let sha256: DigestContext
    let hmac256: KeyedDigest
    let hmac512: KeyedDigest
    let inflater: Inflater
    var headers = JWEHeaders()

    init() throws(DecryptFailure) {
        ciphers = try CipherContexts()
        md5 = try DigestContext(.md5)
        sha256 = try DigestContext(.sha256)
        hmac256 = try KeyedDigest(.sha256)
        hmac512 = try KeyedDigest(.sha512)
        inflater = try Inflater()
    }

    /// Clears every trace of a message.
    func clear() {
        buffer.clear()
        inflated.clear()
        secrets.clear()
    }
}
