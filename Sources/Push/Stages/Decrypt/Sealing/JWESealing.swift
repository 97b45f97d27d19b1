/// Writes a JWE in its compact form.
struct JWESealing {
    private let key: DecryptionKey
    private let context: SealingContext
    private let algorithmName: String
    private let algorithm: JWEAlgorithm
    private let encryption: JWEEncryption

    init(_ key: DecryptionKey, _ choices: Sealer.Choices, _ context: SealingContext) throws(DecryptFailure) {
        self.key = key
        self.context = context
        algorithmName = choices.algorithm ?? key.use.name
        guard let algorithm = JWEAlgorithm(algorithmName) else { throw .unsupported }
        self.algorithm = algorithm
        guard algorithm.use == key.use else { throw .noKey }
        let standard = key.use == .direct ? JWEEncryption.standard(keyCount: key.secret.count) : .gcm256
        guard let encryption = choices.encryption.map(JWEEncryption.init) ?? standard else { throw .unsupported }
        self.encryption = encryption
        guard key.use != .direct || key.secret.count == encryption.keyCount else { throw .noKey }
    }

    func seal(_ text: [UInt8]) throws(DecryptFailure) -> SealedText {
        var members = [("alg", algorithmName), ("enc", encryption.rawValue)]
        if let name = key.name { members.append(("kid", name)) }
        var agreement = ""
        var contentKey = try context.random(encryption.keyCount)
        var wrapped: [UInt8] = []
        switch algorithm {
        case .direct: contentKey = Array(key.secret.bytes)
        case .wrap(_, let cipher): wrapped = try context.wrap(cipher, key: Array(key.secret.bytes), contentKey)
        case .gcmWrap:
            let nonce = try context.random(Cipher.nonceCount)
            let sealed = try context.seal(.aes256GCM, key: Array(key.secret.bytes), nonce: nonce, contentKey)
            wrapped = sealed.text
            members += [("iv", Base64.urlText(nonce)), ("tag", Base64.urlText(sealed.tag))]
        case .agreement(let cipher):
            let pair = try EllipticKey.generate().key
            agreement = ",\"epk\":{" + JSONText.members(pair.publicMembers) + "}"
            let agreed = try agree(pair, cipher)
            if let cipher { wrapped = try context.wrap(cipher, key: agreed, contentKey) } else { contentKey = agreed }
        }
        let header = Base64.urlText(Array(("{" + JSONText.members(members) + agreement + "}").utf8))
        let content = try sealContent(text, contentKey, Array(header.utf8))
        let parts = [wrapped, content.nonce, content.text, content.tag].map(Base64.urlText)
        return SealedText(([header] + parts).joined(separator: "."))
    }

    private func agree(_ pair: EllipticKey, _ wrap: Cipher?) throws(DecryptFailure) -> [UInt8] {
        guard let receiver = key.pair else { throw .noKey }
        let shared = context.scratch.secrets[.shared]
        try pair.agree(with: receiver.point, into: shared)
        let derivation = ConcatDerivation(
            algorithm: wrap == nil ? encryption.rawValue : algorithmName, partyU: [], partyV: [])
        let count = wrap?.keyCount ?? encryption.keyCount
        let room = context.scratch.secrets[.agreed]
        try derivation.derive(
            count, from: UnsafeRawBufferPointer(start: shared, count: EllipticKey.secretCount), into: room,
            context.scratch.digests.sha256)
        return Array(UnsafeRawBufferPointer(start: room, count: count))
    }

    private typealias Content = (nonce: [UInt8], text: [UInt8], tag: [UInt8])

    private func sealContent(_ text: [UInt8], _ key: [UInt8], _ header: [UInt8]) throws(DecryptFailure) -> Content {
        switch encryption {
        case .gcm128: try sealContent(text, .aes128GCM, key, header)
        case .gcm256: try sealContent(text, .aes256GCM, key, header)
        case .cbc128: try sealBlocks(text, .aes128CBC, context.scratch.digests.hmac256, key, header)
        case .cbc256: try sealBlocks(text, .aes256CBC, context.scratch.digests.hmac512, key, header)
        }
    }

    private func sealContent(
        _ text: [UInt8], _ cipher: Cipher, _ key: [UInt8], _ header: [UInt8]
    ) throws(DecryptFailure) -> Content {
        let nonce = try context.random(Cipher.nonceCount)
        let sealed = try context.seal(cipher, key: key, nonce: nonce, additional: header, text)
        return (nonce, sealed.text, sealed.tag)
    }

    private func sealBlocks(
        _ text: [UInt8], _ cipher: Cipher, _ hash: KeyedDigest, _ key: [UInt8], _ header: [UInt8]
    ) throws(DecryptFailure) -> Content {
        let half = key.count / 2
        let iv = try context.random(Cipher.blockCount)
        let sealed = try context.sealBlocks(cipher, key: Array(key[half...]), iv: iv, text)
        let bits = withUnsafeBytes(of: UInt64(header.count * 8).bigEndian) { Array($0) }
        let code = try context.code(hash, key: Array(key[..<half]), header, iv, sealed, bits)
        return (iv, sealed, Array(code[..<half]))
    }
}

extension JWEEncryption {
    /// For a key that encrypts the content itself.
    fileprivate static func standard(keyCount: Int) -> JWEEncryption? {
        [.gcm256, .gcm128, .cbc256].first { $0.keyCount == keyCount }
    }
}

/// Writes web push messages in both of their forms.
struct WebPushSealing {
    private let context: SealingContext
    private let receiver: EllipticKey
    private let auth: [UInt8]
    private let pair: EllipticKey
    private let salt: [UInt8]

    init(_ key: DecryptionKey, _ context: SealingContext) throws(DecryptFailure) {
        guard let receiver = key.pair else { throw .noKey }
        self.context = context
        self.receiver = receiver
        auth = Array(key.secret.bytes)
        pair = try EllipticKey.generate().key
        salt = try context.random(WebPushForm.saltCount)
    }

    /// RFC 8291.
    func seal(_ text: [UInt8]) throws(DecryptFailure) -> SealedText {
        let input = try agree("WebPush: info\0".utf8 + receiver.point + pair.point)
        let record = try seal(
            text + [2], input, key: "Content-Encoding: aes128gcm\0".utf8 + [],
            nonce: "Content-Encoding: nonce\0".utf8 + [])
        // A record of at least 4,096 bytes is what receivers expect.
        let size = withUnsafeBytes(of: UInt32(clamping: max(4096, record.count)).bigEndian) { Array($0) }
        return SealedText(salt + size + [UInt8(EllipticKey.pointCount)] + pair.point + record)
    }

    /// The draft before it.
    func sealDraft(_ text: [UInt8]) throws(DecryptFailure) -> SealedText {
        let context = "P-256\0".utf8 + [0, 65] + receiver.point + [0, 65] + pair.point
        let record = try seal(
            [0, 0] + text, try agree("Content-Encoding: auth\0".utf8 + []),
            key: "Content-Encoding: aesgcm\0".utf8 + context, nonce: "Content-Encoding: nonce\0".utf8 + context)
        var sealed = SealedText(record)
        sealed.draft = (Base64.urlText(pair.point), Base64.urlText(salt))
        return sealed
    }

    private func agree(_ information: [UInt8]) throws(DecryptFailure) -> [UInt8] {
        let shared = context.scratch.secrets[.shared]
        try pair.agree(with: receiver.point, into: shared)
        let secret = Array(UnsafeRawBufferPointer(start: shared, count: EllipticKey.secretCount))
        return try expand(try code(key: auth, secret), information)
    }

    private func seal(
        _ text: [UInt8], _ input: [UInt8], key: [UInt8], nonce: [UInt8]
    ) throws(DecryptFailure) -> [UInt8] {
        let secret = try code(key: salt, input)
        let sealed = try context.seal(
            .aes128GCM, key: Array(try expand(secret, key)[..<16]),
            nonce: Array(try expand(secret, nonce)[..<Cipher.nonceCount]), text)
        return sealed.text + sealed.tag
    }

    private func expand(_ secret: [UInt8], _ information: [UInt8]) throws(DecryptFailure) -> [UInt8] {
        try code(key: secret, information + [1])
    }

    private func code(key: [UInt8], _ text: [UInt8]) throws(DecryptFailure) -> [UInt8] {
        try context.code(context.scratch.digests.hmac256, key: key, text)
    }
}
