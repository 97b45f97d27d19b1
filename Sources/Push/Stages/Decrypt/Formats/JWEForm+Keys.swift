/// How a JWE's content key is come by.
extension JWEForm {
    private var need: KeyNeed {
        switch header.algorithm {
        case .direct: KeyNeed(.direct, count: header.encryption.keyCount)
        case .wrap(let use, _): KeyNeed(use)
        case .gcmWrap: KeyNeed(.gcmWrap256)
        case .agreement: KeyNeed(.agreement)
        }
    }

    func key(_ ring: KeyRing, _ choose: KeyChoice) throws(DecryptFailure) -> DecryptionKey {
        guard let name = header.keyName else { return try choose(need, ring) }
        guard let key = name.span.withUnsafeBytes({ ring.key(named: $0, for: need) }) else { throw .noKey }
        return key
    }

    func contentKey(_ key: DecryptionKey) throws(DecryptFailure) -> CipherKey {
        switch header.algorithm {
        case .direct:
            guard parts.key.isEmpty else { throw .malformed }
            return key.cipherKey
        case .wrap(_, let cipher): return try unwrap(cipher, key.cipherKey)
        case .gcmWrap: return try openKey(key.cipherKey)
        case .agreement(let cipher): return try agreedKey(key, cipher)
        }
    }

    private func unwrap(_ cipher: Cipher, _ key: CipherKey) throws(DecryptFailure) -> CipherKey {
        let count = header.encryption.keyCount
        guard parts.key.count == count + 8 else { throw .malformed }
        let room = scratch.secrets[.contentKey]
        let wrapped = UnsafeRawBufferPointer(parts.key)
        let written = try scratch.ciphers[key].unwrap(cipher, key, wrapped, into: room)
        guard written == count else { throw .malformed }
        return CipherKey(UnsafeRawBufferPointer(start: room, count: count))
    }

    private func openKey(_ key: CipherKey) throws(DecryptFailure) -> CipherKey {
        guard let wrapping = header.wrapping, parts.key.count == header.encryption.keyCount else { throw .malformed }
        var tag = wrapping.tag
        try scratch.ciphers[key].open(
            .aes256GCM, key, nonce: wrapping.nonce, additional: UnsafeRawBufferPointer(start: nil, count: 0),
            parts.key, tag: &tag)
        return CipherKey(UnsafeRawBufferPointer(parts.key))
    }

    private func agreedKey(_ key: DecryptionKey, _ wrap: Cipher?) throws(DecryptFailure) -> CipherKey {
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
            scratch.sha256)
        let agreed = CipherKey(UnsafeRawBufferPointer(start: room, count: count))
        if let wrap { return try unwrap(wrap, agreed) }
        guard parts.key.isEmpty else { throw .malformed }
        return agreed
    }
}
