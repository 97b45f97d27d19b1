/// What a key is for.
package enum KeyUse: UInt16, CaseIterable, Sendable {
    case direct, wrap128, wrap256, gcmWrap256
    case gcm128, gcm256, chacha20
    case passphrase
    case agreement, webPush

    /// The `alg` of a key of this use.
    package var name: String {
        switch self {
        case .direct: "dir"
        case .wrap128: "A128KW"
        case .wrap256: "A256KW"
        case .gcmWrap256: "A256GCMKW"
        case .gcm128: "A128GCM"
        case .gcm256: "A256GCM"
        case .chacha20: "C20P"
        case .passphrase: "openssl"
        case .agreement: "ECDH-ES"
        case .webPush: "webpush"
        }
    }

    /// How many bytes an `oct` key of this use may have; nil for a passphrase, whose length is its owner's affair.
    var counts: [Int]? {
        switch self {
        case .direct: [16, 32, 64]
        case .wrap128, .gcm128: [16]
        case .wrap256, .gcmWrap256, .gcm256, .chacha20: [32]
        case .passphrase, .agreement, .webPush: nil
        }
    }

    var isElliptic: Bool { self == .agreement || self == .webPush }
}

struct KeyUses: OptionSet {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    init(_ uses: [KeyUse]) { rawValue = uses.reduce(0) { $0 | 1 << $1.rawValue } }

    init(_ use: KeyUse) { rawValue = 1 << use.rawValue }
}

/// Which keys can open a ciphertext.
struct KeyNeed {
    let uses: KeyUses
    /// In bytes; any, if nil.
    let count: Int?

    init(_ uses: KeyUses) {
        self.uses = uses
        count = nil
    }

    init(_ use: KeyUse, count: Int? = nil) {
        uses = KeyUses(use)
        self.count = count
    }

    func fits(_ key: DecryptionKey) -> Bool {
        uses.contains(KeyUses(key.use)) && (count == nil || count == key.secret.count)
    }
}
