import PushmillPayload

/// JSON Web Encryption in its compact form (RFC 7516).
struct JWEForm: ~Copyable {
    /// The encoded header, which is authenticated too.
    let headerText: UnsafeRawBufferPointer
    let header: JWEHeader
    let parts: JWEParts

    /// Decrypts the text, whose first dot is at `dot`. The plaintext is in the scratch, valid until its next use.
    static func open(
        _ text: UnsafeRawBufferPointer, dot: Int, _ scratch: inout DecryptScratch, _ ring: KeyRing, _ choose: KeyChoice,
        mayNameKey: Bool
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let form = try JWEForm(text, dot: dot, &scratch)
        let key = try form.key(ring, choose, mayNameKey: mayNameKey)
        // The cipher's key may point into this key's bytes.
        let content = try withExtendedLifetime(key) { () throws(DecryptFailure) in
            try form.openContent(form.contentKey(key, &scratch), &scratch)
        }
        return form.header.isDeflated ? try inflate(content, &scratch) : content
    }

    private init(
        _ text: UnsafeRawBufferPointer, dot: Int, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        scratch.buffer.reserve(text.count)
        let headerText = UnsafeRawBufferPointer(rebasing: text[..<dot])
        let rest = UnsafeRawBufferPointer(rebasing: text[dot...])
        let header: JWEHeader
        if let known = scratch.headers[headerText] {
            header = known
        } else {
            // A fault of the form takes precedence over a fault of the header.
            guard rest.count(where: { $0 == UInt8(ascii: ".") }) >= 4 else { throw .malformed }
            header = try scratch.headers.read(headerText, buffer: scratch.buffer.base)
        }
        let parts = try JWEParts(rest, into: scratch.buffer.base)
        self.headerText = headerText
        self.header = header
        self.parts = parts
    }

    private func openContent(
        _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let cipher = header.encryption.cipher
        guard cipher.isGCM else {
            return try openBlocks(cipher, scratch.digests.code(beside: cipher), key, &scratch)
        }
        guard let nonce = parts.nonce.baseAddress, parts.nonce.count == Cipher.nonceCount,
            let tag = parts.tag.baseAddress, parts.tag.count == Cipher.tagCount
        else { throw .malformed }
        try scratch.ciphers[cipher, key].open(
            cipher, key, nonce: nonce, additional: headerText, parts.content, tag: tag)
        return parts.content
    }

    /// AES-CBC with HMAC (RFC 7518, 5.2): the key's first half authenticates, the second half decrypts.
    private func openBlocks(
        _ cipher: Cipher, _ digest: KeyedDigest, _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard let iv = parts.nonce.baseAddress, parts.nonce.count == Cipher.blockCount,
            parts.tag.count == cipher.keyCount
        else { throw .malformed }
        let middle = key.bytes.count / 2
        try digest.begin(UnsafeRawBufferPointer(rebasing: key.bytes[..<middle]))
        try digest.add(headerText)
        try digest.add(UnsafeRawBufferPointer(parts.nonce))
        try digest.add(UnsafeRawBufferPointer(parts.content))
        let bits = UInt64(headerText.count * 8).bigEndian
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
        switch scratch.inflater.inflate(content, into: output) {
        case .bytes(let count): return UnsafeMutableRawBufferPointer(rebasing: output[..<count])
        case .tooLarge: throw .tooLarge
        case .malformed: throw .malformed
        }
    }
}

/// Obtains a JWE's content key.
extension JWEForm {
    private var need: KeyNeed {
        // Only a key that encrypts the content directly must have the content key's length.
        KeyNeed(header.algorithm.use, count: header.algorithm == .direct ? header.encryption.keyCount : nil)
    }

    func key(_ ring: KeyRing, _ choose: KeyChoice, mayNameKey: Bool) throws(DecryptFailure) -> DecryptionKey {
        guard mayNameKey, let name = header.keyName else { return try choose(need, ring) }
        guard let key = name.withUnsafeBytes({ ring.key(named: $0, for: need) }) else { throw .noKey }
        return key
    }

    func contentKey(
        _ key: DecryptionKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        switch header.algorithm {
        case .direct:
            guard parts.key.isEmpty else { throw .malformed }
            return key.cipherKey
        case .wrap(_, let cipher): return try unwrap(cipher, key.cipherKey, &scratch)
        case .gcmWrap: return try openKey(key.cipherKey, &scratch)
        case .agreement(let cipher): return try agreedKey(key, cipher, &scratch)
        }
    }

    private func unwrap(
        _ cipher: Cipher, _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        guard parts.key.count == header.encryption.keyCount + 8 else { throw .malformed }
        let block = scratch.secrets[.contentKey]
        let content = try scratch.ciphers[cipher, key].unwrap(cipher, key, parts.key, block: block)
        return CipherKey(UnsafeRawBufferPointer(content))
    }

    private func openKey(
        _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        guard let wrapping = header.wrapping, parts.key.count == header.encryption.keyCount else { throw .malformed }
        var tag = wrapping.tag
        try scratch.ciphers[.aes256GCM, key].open(
            .aes256GCM, key, nonce: wrapping.nonce, parts.key, tag: &tag)
        return CipherKey(UnsafeRawBufferPointer(parts.key))
    }

    private func agreedKey(
        _ key: DecryptionKey, _ wrap: Cipher?, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        guard let agreement = header.agreement, let pair = key.pair else { throw .noKey }
        let agreed = try agreement.key(pair, for: header.encryption, header.algorithmName, wrap, &scratch)
        if let wrap { return try unwrap(wrap, agreed, &scratch) }
        guard parts.key.isEmpty else { throw .malformed }
        return agreed
    }
}

/// The parts of a compact JWE after its header, decoded one after the other from the start of a buffer.
struct JWEParts {
    let key: UnsafeMutableRawBufferPointer
    let nonce: UnsafeMutableRawBufferPointer
    let content: UnsafeMutableRawBufferPointer
    let tag: UnsafeMutableRawBufferPointer

    /// A dot precedes each part. The buffer must have room for `text.count` bytes.
    init(_ text: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawPointer) throws(DecryptFailure) {
        var rest = text
        var next = buffer
        key = try Self.decode(&rest, &next)
        nonce = try Self.decode(&rest, &next)
        content = try Self.decode(&rest, &next)
        tag = try Self.decode(&rest, &next)
        guard rest.isEmpty else { throw .malformed }
    }

    private static func decode(
        _ rest: inout UnsafeRawBufferPointer, _ next: inout UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard rest.first == UInt8(ascii: ".") else { throw .malformed }
        let (count, after) = try BinaryText.decodePart(UnsafeRawBufferPointer(rebasing: rest[1...]), into: next)
        rest = after
        defer { next += count }
        return UnsafeMutableRawBufferPointer(start: next, count: count)
    }
}
