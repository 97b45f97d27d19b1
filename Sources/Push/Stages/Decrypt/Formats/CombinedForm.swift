/// Nonce, ciphertext and tag, one after the other, as CryptoKit and others combine them.
enum CombinedForm {
    static let shortest = Cipher.nonceCount + Cipher.tagCount

    /// Decrypts in place.
    static func open(
        _ data: UnsafeMutableRawBufferPointer, _ key: DecryptionKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard data.count >= shortest, let start = data.baseAddress else { throw .malformed }
        let cipher: Cipher
        switch key.use {
        case .gcm128: cipher = .aes128GCM
        case .gcm256: cipher = .aes256GCM
        case .chacha20: cipher = .chacha20Poly1305
        default: throw .noKey
        }
        let end = data.count - Cipher.tagCount
        let text = UnsafeMutableRawBufferPointer(rebasing: data[Cipher.nonceCount..<end])
        try withExtendedLifetime(key) { () throws(DecryptFailure) in
            try scratch.ciphers[cipher, key.cipherKey].open(
                cipher, key.cipherKey, nonce: start, additional: UnsafeRawBufferPointer(start: nil, count: 0), text,
                tag: start + end)
        }
        return text
    }
}
