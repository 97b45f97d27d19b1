import PushmillPayload

extension Sealer {
    /// The key must suit the choices.
    func jwe(_ text: [UInt8], _ key: DecryptionKey) throws(DecryptFailure) -> SealedText {
        let algorithmName = choices.algorithm ?? key.use.name
        let standard = key.use == .direct ? JWEEncryption.standard(keyCount: key.secret.count) : .gcm256
        guard let algorithm = JWEAlgorithm(algorithmName),
            let encryption = choices.encryption.map(JWEEncryption.init) ?? standard
        else { throw .unsupported }
        var members = Array("{".utf8)
        members.append(algorithmName, as: "alg")
        members.append(encryption.rawValue, as: "enc")
        if let name = key.name { members.append(name, as: "kid") }
        var contentKey = try context.random(encryption.keyCount)
        var wrapped: [UInt8] = []
        switch algorithm {
        case .direct: contentKey = Array(key.secret.bytes)
        case .wrap(_, let cipher): wrapped = try context.wrap(cipher, key: Array(key.secret.bytes), contentKey)
        case .gcmWrap:
            let nonce = try context.random(Cipher.nonceCount)
            let sealed = try context.seal(.aes256GCM, key: Array(key.secret.bytes), nonce: nonce, contentKey)
            wrapped = sealed.text
            members.append(Base64.urlText(nonce), as: "iv")
            members.append(Base64.urlText(sealed.tag), as: "tag")
        case .agreement(let cipher):
            guard let receiver = key.pair else { throw .noKey }
            let pair = try EllipticKey.generate().key
            members.begin("epk")
            members.append("{")
            members.append(publicMembersOf: pair)
            members.append("}")
            let agreement = JWEHeader.Agreement(point: receiver.point, partyU: [], partyV: [])
            let agreed = Array(
                try agreement.key(pair, for: encryption, algorithmName, cipher, &context.scratch).bytes)
            if let cipher { wrapped = try context.wrap(cipher, key: agreed, contentKey) } else { contentKey = agreed }
        }
        members.append("}")
        let header = Base64.urlText(members)
        let content = try sealContent(text, encryption.cipher, contentKey, Array(header.utf8))
        let parts = [wrapped, content.nonce, content.text, content.tag].map(Base64.urlText)
        return SealedText(([header] + parts).joined(separator: "."))
    }

    private func sealContent(
        _ text: [UInt8], _ cipher: Cipher, _ key: [UInt8], _ header: [UInt8]
    ) throws(DecryptFailure) -> (nonce: [UInt8], text: [UInt8], tag: [UInt8]) {
        if cipher.isGCM {
            let nonce = try context.random(Cipher.nonceCount)
            let sealed = try context.seal(cipher, key: key, nonce: nonce, additional: header, text)
            return (nonce, sealed.text, sealed.tag)
        }
        let half = key.count / 2
        let iv = try context.random(Cipher.blockCount)
        let sealed = try context.encrypt(cipher.algorithm, key: Array(key[half...]), nonce: iv, text)
        let bits = withUnsafeBytes(of: UInt64(header.count * 8).bigEndian) { Array($0) }
        let hash = context.scratch.digests.code(beside: cipher)
        let code = try context.code(hash, key: Array(key[..<half]), header, iv, sealed, bits)
        return (iv, sealed, Array(code[..<half]))
    }
}

extension JWEEncryption {
    /// The default for a key that encrypts the content itself.
    fileprivate static func standard(keyCount: Int) -> JWEEncryption? {
        [.gcm256, .gcm128, .cbc256].first { $0.keyCount == keyCount }
    }
}
