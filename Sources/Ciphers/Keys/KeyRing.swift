import PushmillPayload
import Synchronization

/// A key set in use: immutable, replaced as a whole.
package final class KeyRing: Sendable {
    /// A replaced key set. Until `until` it still opens messages that were encrypted before the change.
    struct Former {
        let ring: KeyRing
        let until: ContinuousClock.Instant
    }

    /// In the order of the file.
    package let keys: [DecryptionKey]
    /// The first key of each use and length.
    private let standard: [DecryptionKey]
    /// The positions in `keys` of the named keys.
    private let index: KeyIndex
    /// Latest first. A former ring has no formers itself.
    let formers: [Former]

    package static let empty = KeyRing([])

    package convenience init(_ keys: [DecryptionKey]) { self.init(keys, formers: []) }

    init(_ keys: [DecryptionKey], formers: [Former]) {
        self.keys = keys
        self.formers = formers
        var standard: [DecryptionKey] = []
        for key in keys
        where !standard.contains(where: { $0.use == key.use && $0.secret.count == key.secret.count }) {
            standard.append(key)
        }
        self.standard = standard
        var index = KeyIndex(capacity: keys.count)
        for (position, key) in keys.enumerated() {
            if let name = key.nameBytes { index.insert(name.withUnsafeBytes(KeyIndex.plainHash), position) }
        }
        self.index = index
    }

    func hasSameKeys(as other: KeyRing) -> Bool {
        keys.elementsEqual(other.keys) { key, other in
            key.nameBytes == other.nameBytes && key.use == other.use && key.pair?.point == other.pair?.point
                && key.secret.bytes.elementsEqual(other.secret.bytes)
        }
    }

    /// The first key that fits, whatever its name.
    package func key(for need: KeyNeed) -> DecryptionKey? {
        standard.first { need.fits($0) }
    }

    /// The first key of this name that fits.
    package func key(named name: UnsafeRawBufferPointer, for need: KeyNeed) -> DecryptionKey? {
        let found = index.find(KeyIndex.plainHash(name)) { need.fits(keys[$0]) && keys[$0].isNamed(name) }
        return found.map { keys[$0] }
    }
}

/// A key of a key set.
package final class DecryptionKey: Sendable {
    /// Unique in this process, so a context or derived key of one key is never used for another.
    let serial: UInt64
    package let name: String?
    let nameBytes: [UInt8]?
    package let use: KeyUse
    /// The bytes of an `oct` key; the `auth` secret of a web push key; empty for key agreement.
    let secret: SecretBytes
    let pair: EllipticKey?

    init(name: String?, use: KeyUse, secret: SecretBytes, pair: EllipticKey? = nil) {
        serial = Self.serials.add(1, ordering: .relaxed).newValue
        self.name = name
        nameBytes = name.map { Array($0.utf8) }
        self.use = use
        self.secret = secret
        self.pair = pair
    }

    private static let serials = Atomic<UInt64>(0)

    /// Valid for the lifetime of this object.
    var cipherKey: CipherKey { CipherKey(secret.bytes, serial: serial) }

    func isNamed(_ bytes: UnsafeRawBufferPointer) -> Bool { nameBytes?.withUnsafeBytes(bytes.hasBytes) ?? false }
}

package enum KeyUse: UInt16, CaseIterable, Sendable {
    case direct, wrap128, wrap256, gcmWrap256
    case gcm128, gcm256, chacha20
    case passphrase
    case agreement, webPush

    /// The `alg` of a key of this use.
    package var name: String { traits.name }

    /// The allowed lengths of an `oct` key of this use, in bytes; nil for a passphrase, which may have any.
    var counts: [Int]? { traits.counts }

    private var traits: (name: String, counts: [Int]?) {
        switch self {
        case .direct: ("dir", [16, 32, 64])
        case .wrap128: ("A128KW", [16])
        case .wrap256: ("A256KW", [32])
        case .gcmWrap256: ("A256GCMKW", [32])
        case .gcm128: ("A128GCM", [16])
        case .gcm256: ("A256GCM", [32])
        case .chacha20: ("C20P", [32])
        case .passphrase: ("openssl", nil)
        case .agreement: ("ECDH-ES", nil)
        case .webPush: ("webpush", nil)
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
package struct KeyNeed {
    let uses: KeyUses
    /// In bytes; nil for any.
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
