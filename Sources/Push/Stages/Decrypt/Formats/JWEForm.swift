/// JSON Web Encryption in its compact form (RFC 7516).
struct JWEForm {
    let texts: JWETexts
    let header: JWEHeader
    let parts: JWEParts

    /// Decrypts the text. The plaintext is in the scratch, good until that is used again.
    static func open(
        _ text: UnsafeRawBufferPointer, _ scratch: inout DecryptScratch, _ ring: KeyRing, _ choose: KeyChoice,
        mayNameKey: Bool
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let form = try JWEForm(text, &scratch)
        let key = try form.key(ring, choose, mayNameKey: mayNameKey)
        // The cipher's key may be this key's own bytes.
        let content = try withExtendedLifetime(key) { () throws(DecryptFailure) in
            try form.openContent(form.contentKey(key, &scratch), &scratch)
        }
        return form.header.isDeflated ? try inflate(content, &scratch) : content
    }

    private init(_ text: UnsafeRawBufferPointer, _ scratch: inout DecryptScratch) throws(DecryptFailure) {
        texts = try JWETexts(text)
        scratch.buffer.reserve(text.count + 8)
        header = try scratch.headers.header(texts.header, buffer: scratch.buffer.base)
        parts = try JWEParts(texts, into: scratch.buffer.base)
    }

    // MARK: - The content

    private func openContent(
        _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        switch header.encryption {
        case .gcm128: try openSealed(.aes128GCM, key, &scratch)
        case .gcm256: try openSealed(.aes256GCM, key, &scratch)
        case .cbc128: try openBlocks(.aes128CBC, scratch.digests.hmac256, key, &scratch)
        case .cbc256: try openBlocks(.aes256CBC, scratch.digests.hmac512, key, &scratch)
        }
    }

    private func openSealed(
        _ cipher: Cipher, _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard let nonce = parts.nonce.baseAddress, parts.nonce.count == Cipher.nonceCount,
            let tag = parts.tag.baseAddress, parts.tag.count == Cipher.tagCount
        else { throw .malformed }
        try scratch.ciphers[cipher, key].open(
            cipher, key, nonce: nonce, additional: texts.header, parts.content, tag: tag)
        return parts.content
    }

    /// AES-CBC with HMAC (RFC 7518, 5.2): the key's first half authenticates, the second decrypts.
    private func openBlocks(
        _ cipher: Cipher, _ digest: KeyedDigest, _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard let iv = parts.nonce.baseAddress, parts.nonce.count == Cipher.blockCount,
            parts.tag.count == cipher.keyCount
        else { throw .malformed }
        let middle = key.bytes.count / 2
        try digest.begin(UnsafeRawBufferPointer(rebasing: key.bytes[..<middle]))
        try digest.add(texts.header)
        try digest.add(UnsafeRawBufferPointer(parts.nonce))
        try digest.add(UnsafeRawBufferPointer(parts.content))
        let bits = UInt64(texts.header.count * 8).bigEndian
        try withUnsafeBytes(of: bits) { (bits) throws(DecryptFailure) in try digest.add(bits) }
        try digest.end(expecting: parts.tag, room: scratch.secrets[.code])
        let textKey = CipherKey(UnsafeRawBufferPointer(rebasing: key.bytes[middle...]), serial: key.serial)
        let (count, isPadded) = try scratch.ciphers[cipher, textKey].openBlocks(
            cipher, textKey, iv: iv, parts.content)
        guard isPadded else { throw .authentication }
        return UnsafeMutableRawBufferPointer(rebasing: parts.content[..<count])
    }

    private static func inflate(
        _ content: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        scratch.inflated.reserve(DecryptScratch.plaintextLimit)
        let output = scratch.inflated[0..<DecryptScratch.plaintextLimit]
        let count = try scratch.inflater.inflate(content, into: output)
        return UnsafeMutableRawBufferPointer(rebasing: output[..<count])
    }
}
