/// A key set in force: immutable, replaced as a whole.
package final class KeyRing: Sendable {
    /// The set that another has replaced. Messages on their way may still need it for a while.
    struct Former {
        let ring: KeyRing
        let until: ContinuousClock.Instant
    }

    /// In the order of the file.
    package let keys: [DecryptionKey]
    /// The first key of each use and length.
    private let standard: [DecryptionKey]
    /// By the name's hash.
    private let named: [UInt64: [DecryptionKey]]
    let former: Former?

    static let empty = KeyRing([])

    init(_ keys: [DecryptionKey], former: Former? = nil) {
        self.keys = keys
        self.former = former
        var standard: [DecryptionKey] = []
        var named: [UInt64: [DecryptionKey]] = [:]
        for key in keys {
            if !standard.contains(where: { $0.use == key.use && $0.secret.count == key.secret.count }) {
                standard.append(key)
            }
            guard let name = key.name else { continue }
            let hash = Array(name.utf8).withUnsafeBytes(ByteHash.hash)
            named[hash, default: []].append(key)
        }
        self.standard = standard
        self.named = named
    }

    func hasSameKeys(as other: KeyRing) -> Bool {
        keys.elementsEqual(other.keys) { key, other in
            key.name == other.name && key.use == other.use && key.pair?.point == other.pair?.point
                && key.secret.bytes.elementsEqual(other.secret.bytes)
        }
    }

    /// The first key that fits, whatever its name.
    func key(for need: KeyNeed) -> DecryptionKey? {
        for key in standard where need.fits(key) { return key }
        return nil
    }

    func key(named name: UnsafeRawBufferPointer, for need: KeyNeed) -> DecryptionKey? {
        guard let keys = named[ByteHash.hash(name)] else { return nil }
        for key in keys where key.isNamed(name) && need.fits(key) { return key }
        return nil
    }
}
