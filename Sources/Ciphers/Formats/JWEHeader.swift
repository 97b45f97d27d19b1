import PushmillPayload

/// How the content is encrypted (`enc`).
package enum JWEEncryption: String, CaseIterable, Sendable {
    case gcm128 = "A128GCM"
    case gcm256 = "A256GCM"
    case cbc128 = "A128CBC-HS256"
    case cbc256 = "A256CBC-HS512"

    var cipher: Cipher {
        switch self {
        case .gcm128: .aes128GCM
        case .gcm256: .aes256GCM
        case .cbc128: .aes128CBC
        case .cbc256: .aes256CBC
        }
    }

    /// CBC has no tag of its own, so half of the key is for an HMAC.
    package var keyCount: Int { cipher.isCBC ? 2 * cipher.keyCount : cipher.keyCount }
}

/// How the content key is obtained (`alg`).
enum JWEAlgorithm: Equatable {
    case direct
    case wrap(KeyUse, Cipher)
    case gcmWrap
    /// A key that both sides compute: the content key itself or the key that wraps it.
    case agreement(Cipher?)

    var use: KeyUse {
        switch self {
        case .direct: .direct
        case .wrap(let use, _): use
        case .gcmWrap: .gcmWrap256
        case .agreement: .agreement
        }
    }

    static let named: KeyValuePairs<String, JWEAlgorithm> = [
        "dir": .direct, "A128KW": .wrap(.wrap128, .aes128Wrap), "A256KW": .wrap(.wrap256, .aes256Wrap),
        "A256GCMKW": .gcmWrap, "ECDH-ES": .agreement(nil), "ECDH-ES+A128KW": .agreement(.aes128Wrap),
        "ECDH-ES+A192KW": .agreement(.aes192Wrap), "ECDH-ES+A256KW": .agreement(.aes256Wrap),
    ]

    init?(_ name: String) {
        guard let algorithm = Self.named.first(where: { $0.key == name })?.value else { return nil }
        self = algorithm
    }
}

/// The protected header of a JWE in its compact form.
final class JWEHeader {
    let algorithm: JWEAlgorithm
    /// The text of `alg`, which key agreement hashes.
    let algorithmName: String
    let encryption: JWEEncryption
    let isDeflated: Bool
    let keyName: [UInt8]?
    let agreement: Agreement?
    /// Nonce and tag of the wrapped key, which `A256GCMKW` puts into the header.
    let wrapping: (nonce: [UInt8], tag: [UInt8])?

    /// What `ECDH-ES` needs from the header.
    struct Agreement {
        /// The other side's public point, uncompressed.
        let point: [UInt8]
        let partyU: [UInt8]
        let partyV: [UInt8]
    }

    /// True if other messages may have the identical header.
    var isRepeated: Bool { agreement == nil && wrapping == nil }

    init(_ members: JWEHeaderMembers) throws(DecryptFailure) {
        // `crit` names extensions that a reader must understand. None is supported here.
        guard !members.has("crit") else { throw .unsupported }
        guard let algorithmName = try members.text("alg"), let encryptionName = try members.text("enc") else {
            throw .malformed
        }
        guard let algorithm = JWEAlgorithm(algorithmName), let encryption = JWEEncryption(rawValue: encryptionName)
        else { throw .unsupported }
        self.algorithm = algorithm
        self.algorithmName = algorithmName
        self.encryption = encryption
        switch try members.text("zip") {
        case nil: isDeflated = false
        case "DEF"?: isDeflated = true
        default: throw .unsupported
        }
        keyName = try members.text("kid").map { Array($0.utf8) }
        agreement = if case .agreement = algorithm { try members.agreement() } else { nil }
        wrapping = algorithm == .gcmWrap ? try members.wrapping() : nil
    }
}

extension JWEHeader.Agreement {
    /// The key that sender and receiver both compute (RFC 7518, 4.6), in the scratch: the content key or the key that
    /// wraps it.
    func key(
        _ pair: EllipticKey, for encryption: JWEEncryption, _ algorithm: String, _ wrap: Cipher?,
        _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> CipherKey {
        let shared = scratch.secrets[.shared]
        try pair.agree(with: point, into: shared)
        let output = scratch.secrets[.agreed]
        let count = wrap?.keyCount ?? encryption.keyCount
        var information: [UInt8] = []
        for part in [Array((wrap == nil ? encryption.rawValue : algorithm).utf8), partyU, partyV] {
            information += bigEndian(part.count) + part
        }
        information += bigEndian(count * 8)
        for (round, start) in stride(from: 0, to: count, by: ContentHash.count).enumerated() {
            var input = bigEndian(round + 1)
            defer { input.wipe() }
            // An array that grows would leave the secret in its old memory.
            input.reserveCapacity(input.count + EllipticKey.secretCount + information.count)
            input += UnsafeRawBufferPointer(start: shared, count: EllipticKey.secretCount)
            input += information
            try input.span.withUnsafeBytes { (input) throws(DecryptFailure) in
                try ContentHash.hash(input, into: output + start)
            }
        }
        return CipherKey(UnsafeRawBufferPointer(start: output, count: count))
    }

    private func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

struct JWEHeaderMembers {
    private let document: JSONDocument
    private let object: JSONNode

    init(_ document: JSONDocument, _ object: JSONNode) throws(DecryptFailure) {
        guard document.kind(of: object) == .object else { throw .malformed }
        self.document = document
        self.object = object
    }

    func has(_ name: StaticString) -> Bool { document.member(name, of: object) != nil }

    /// Nil if the member is missing; throws if it is not a string.
    func text(_ name: StaticString) throws(DecryptFailure) -> String? {
        guard let node = document.member(name, of: object) else { return nil }
        guard let text = document.string(of: node) else { throw .malformed }
        return text
    }

    func agreement() throws(DecryptFailure) -> JWEHeader.Agreement {
        guard let node = document.member("epk", of: object) else { throw .malformed }
        let key = try JWEHeaderMembers(document, node)
        guard try key.text("kty") == "EC", try key.text("crv") == "P-256" else { throw .unsupported }
        guard let x = try key.bytes("x", count: 32), let y = try key.bytes("y", count: 32) else { throw .malformed }
        return JWEHeader.Agreement(
            point: [4] + x + y, partyU: try bytes("apu") ?? [], partyV: try bytes("apv") ?? [])
    }

    func wrapping() throws(DecryptFailure) -> (nonce: [UInt8], tag: [UInt8]) {
        guard let nonce = try bytes("iv", count: Cipher.nonceCount), let tag = try bytes("tag", count: Cipher.tagCount)
        else { throw .malformed }
        return (nonce, tag)
    }

    private func bytes(_ name: StaticString, count: Int? = nil) throws(DecryptFailure) -> [UInt8]? {
        guard let text = try text(name) else { return nil }
        let bytes = try BinaryText.bytes(ofBare: text)
        guard count == nil || bytes.count == count else { throw .malformed }
        return bytes
    }
}

/// A cache of parsed headers: all messages of a sender begin with the same one.
struct JWEHeaders {
    /// In bytes. Longer headers are rare and parsed each time.
    private static let longest = 512

    private var known = RecentValues<JWEHeader>(capacity: 64)
    private var document = JSONDocument()

    /// The header that this base64url text encodes, if cached.
    subscript(text: UnsafeRawBufferPointer) -> JWEHeader? { known[text] }

    /// Parses a header from its base64url text; `buffer` must have room for `text.count` bytes.
    mutating func read(
        _ text: UnsafeRawBufferPointer, buffer: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> JWEHeader {
        let count = try BinaryText.decodeBase64(text, into: buffer)
        let json = UnsafeRawBufferPointer(start: buffer, count: count)
        guard (try? document.read(json)) != nil else { throw .malformed }
        let header = try JWEHeader(JWEHeaderMembers(document, document.root))
        if header.isRepeated, text.count <= Self.longest { known[text] = header }
        return header
    }
}
