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
