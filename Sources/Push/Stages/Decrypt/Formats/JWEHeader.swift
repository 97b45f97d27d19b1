/// How the content is encrypted (`enc`).
package enum JWEEncryption: String, CaseIterable, Sendable {
    case gcm128 = "A128GCM"
    case gcm256 = "A256GCM"
    case cbc128 = "A128CBC-HS256"
    case cbc256 = "A256CBC-HS512"

    package var keyCount: Int {
        switch self {
        case .gcm128: 16
        case .gcm256, .cbc128: 32
        case .cbc256: 64
        }
    }
}

/// How the content's key is come by (`alg`).
enum JWEAlgorithm: Equatable {
    case direct
    case wrap(KeyUse, Cipher)
    case gcmWrap
    /// A key that both sides compute: the content's own, or the one that wraps it.
    case agreement(Cipher?)

    /// Which keys it takes.
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
    /// As `alg` has it, because key agreement hashes it.
    let algorithmName: String
    let encryption: JWEEncryption
    let isDeflated: Bool
    let keyName: [UInt8]?
    let agreement: Agreement?
    let wrapping: Wrapping?

    struct Agreement {
        /// The sender's, uncompressed.
        var point: [UInt8]
        var partyU: [UInt8]
        var partyV: [UInt8]
    }

    /// What `A256GCMKW` keeps in the header.
    struct Wrapping {
        var nonce: [UInt8]
        var tag: [UInt8]
    }

    /// True where other messages have the very same header.
    var isRepeated: Bool { agreement == nil && wrapping == nil }

    init(_ members: JWEHeaderMembers) throws(DecryptFailure) {
        // Names extensions that a reader must understand. There are none that we do.
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
