/// Web push: RFC 8291, and the draft before it, which sends salt and public key beside the ciphertext.
package struct WebPushForm {
    static let saltCount = 16
    private static let lengthAt = saltCount + 4
    private static let pointAt = lengthAt + 1
    private static let recordAt = pointAt + EllipticKey.pointCount

    private let key: DecryptionKey
    private let pair: EllipticKey

    /// The parameters from the draft's headers.
    package struct Draft: Sendable {
        let point: [UInt8]
        let salt: [UInt8]

        /// Nil if the values do not have the right form and so mean something else.
        package init?(point: [UInt8], salt: [UInt8]) {
            guard point.count == EllipticKey.pointCount, point[0] == 4, salt.count == saltCount else { return nil }
            self.point = point
            self.salt = salt
        }
    }

    init(_ key: DecryptionKey) throws(DecryptFailure) {
        guard let pair = key.pair, key.use == .webPush else { throw .noKey }
        self.key = key
        self.pair = pair
    }

    /// True if the data begins with a salt, a record size and a point of the curve, which other bytes do not.
    static func isLike(_ data: UnsafeMutableRawBufferPointer) -> Bool {
        data.count > recordAt && data[lengthAt] == EllipticKey.pointCount && data[pointAt] == 4
            && EllipticKey.isPoint(UnsafeRawBufferPointer(rebasing: data[pointAt..<recordAt]))
    }

    /// Decrypts in place: the draft's form if its parameters are given, else that of the RFC.
    func open(
        _ data: UnsafeMutableRawBufferPointer, _ draft: Draft?, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        if let draft { try openDraft(data, draft, &scratch) } else { try openStandard(data, &scratch) }
    }

    private func openStandard(
        _ data: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard Self.isLike(data) else { throw .malformed }
        let recordSize = data.loadUnaligned(fromByteOffset: Self.saltCount, as: UInt32.self).bigEndian
        let point = Array(data[Self.pointAt..<Self.recordAt])
        // A push message is one record.
        guard data.count - Self.recordAt <= recordSize else { throw .unsupported }
        let salt = Array(data[..<Self.saltCount])
        try WebPushAgreement.derive(pair, with: point, isReceiver: true, key.secret, salt, isDraft: false, &scratch)
        let text = try openRecord(UnsafeMutableRawBufferPointer(rebasing: data[Self.recordAt...]), &scratch)
        // The text, then a 2 that marks the last record, then zeros.
        guard let end = text.lastIndex(where: { $0 != 0 }), text[end] == 2 else { throw .authentication }
        return UnsafeMutableRawBufferPointer(rebasing: text[..<end])
    }

    private func openDraft(
        _ record: UnsafeMutableRawBufferPointer, _ draft: Draft, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        try WebPushAgreement.derive(
            pair, with: draft.point, isReceiver: true, key.secret, draft.salt, isDraft: true, &scratch)
        let text = try openRecord(record, &scratch)
        // The length of the padding, then that many zeros, then the text.
        guard text.count >= 2 else { throw .authentication }
        let start = 2 + (Int(text[0]) << 8 | Int(text[1]))
        guard start <= text.count, text[2..<start].allSatisfy({ $0 == 0 }) else { throw .authentication }
        return UnsafeMutableRawBufferPointer(rebasing: text[start...])
    }

    private func openRecord(
        _ record: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard record.count >= Cipher.tagCount, let start = record.baseAddress else { throw .malformed }
        let end = record.count - Cipher.tagCount
        let text = UnsafeMutableRawBufferPointer(rebasing: record[..<end])
        let key = CipherKey(UnsafeRawBufferPointer(start: scratch.secrets[.contentKey], count: 16))
        try scratch.ciphers[.aes128GCM, key].open(
            .aes128GCM, key, nonce: scratch.secrets[.nonce], text, tag: start + end)
        return text
    }
}

/// The keys that sender and receiver both compute for a message.
enum WebPushAgreement {
    /// Takes this side's pair and the other's public key; leaves the content key and the nonce in the scratch's cells.
    static func derive(
        _ pair: EllipticKey, with peer: [UInt8], isReceiver: Bool, _ auth: SecretBytes, _ salt: [UInt8],
        isDraft: Bool, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        let (receiver, sender) = isReceiver ? (pair.point, peer) : (peer, pair.point)
        let context = isDraft ? "P-256\0".utf8 + [0, 65] + receiver + [0, 65] + sender : []
        let hmac = scratch.digests.hmac256
        let shared = scratch.secrets[.shared]
        try pair.agree(with: peer, into: shared)
        // HKDF with the subscription's `auth` as salt gives the input of a second one with the message's salt.
        try withExtendedLifetime(auth) { () throws(DecryptFailure) in try hmac.begin(auth.bytes) }
        try hmac.add(UnsafeRawBufferPointer(start: shared, count: EllipticKey.secretCount))
        let agreed = scratch.secrets[.agreed]
        try hmac.end(into: agreed)
        try expand(
            agreed, isDraft ? "Content-Encoding: auth\0".utf8 + [] : "WebPush: info\0".utf8 + receiver + sender,
            into: agreed, hmac)
        try salt.span.withUnsafeBytes { (salt) throws(DecryptFailure) in try hmac.begin(salt) }
        try hmac.add(UnsafeRawBufferPointer(start: agreed, count: 32))
        let secret = scratch.secrets[.code]
        try hmac.end(into: secret)
        let name = isDraft ? "Content-Encoding: aesgcm\0" : "Content-Encoding: aes128gcm\0"
        try expand(secret, name.utf8 + context, into: scratch.secrets[.contentKey], hmac)
        try expand(secret, "Content-Encoding: nonce\0".utf8 + context, into: scratch.secrets[.nonce], hmac)
    }

    /// HKDF-Expand for at most one hash length; callers may use only the beginning.
    private static func expand(
        _ secret: UnsafeMutableRawPointer, _ information: [UInt8], into output: UnsafeMutableRawPointer,
        _ hmac: KeyedDigest
    ) throws(DecryptFailure) {
        try hmac.begin(UnsafeRawBufferPointer(start: secret, count: 32))
        try hmac.add(information + [1])
        try hmac.end(into: output)
    }
}
