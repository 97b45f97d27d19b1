/// How a JWE's content key is come by.
extension JWEForm {
    private var need: KeyNeed {
        // Only a key that is the content's own has to have its length.
        KeyNeed(header.algorithm.use, count: header.algorithm == .direct ? header.encryption.keyCount : nil)
    }

    func key(_ ring: KeyRing, _ choose: KeyChoice, mayNameKey: Bool) throws(DecryptFailure) -> DecryptionKey {
        guard mayNameKey, let name = header.keyName else { return try choose(need, ring) }
        guard let key = name.span.withUnsafeBytes({ ring.key(named: $0, for: need) }) else { throw .noKey }
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
        let count = header.encryption.keyCount
        guard parts.key.count == count + 8 else { throw .malformed }
        let room = scratch.secrets[.contentKey]
        let wrapped = UnsafeRawBufferPointer(parts.key)
        let written = try scratch.ciphers[cipher, key].unwrap(cipher, key, wrapped, into: room)
        guard written == count else { throw .malformed }
        return CipherKey(UnsafeRawBufferPointer(start: room, count: count))
    }

    private func openKey(
        _ key: CipherKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        guard let wrapping = header.wrapping, parts.key.count == header.encryption.keyCount else { throw .malformed }
        var tag = wrapping.tag
        try scratch.ciphers[.aes256GCM, key].open(
            .aes256GCM, key, nonce: wrapping.nonce, additional: UnsafeRawBufferPointer(start: nil, count: 0),
            parts.key, tag: &tag)
        return CipherKey(UnsafeRawBufferPointer(parts.key))
    }

    private func agreedKey(
        _ key: DecryptionKey, _ wrap: Cipher?, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        guard let agreement = header.agreement, let pair = key.pair else { throw .noKey }
        let shared = scratch.secrets[.shared]
        try pair.agree(with: agreement.point, into: shared)
        let room = scratch.secrets[.agreed]
        let derivation = ConcatDerivation(
            algorithm: wrap == nil ? header.encryption.rawValue : header.algorithmName, partyU: agreement.partyU,
            partyV: agreement.partyV)
        let count = wrap?.keyCount ?? header.encryption.keyCount
        try derivation.derive(
            count, from: UnsafeRawBufferPointer(start: shared, count: EllipticKey.secretCount), into: room,
            scratch.digests.sha256)
        let agreed = CipherKey(UnsafeRawBufferPointer(start: room, count: count))
        if let wrap { return try unwrap(wrap, agreed, &scratch) }
        guard parts.key.isEmpty else { throw .malformed }
        return agreed
    }
}
