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
    /// A hash table of named keys: their positions, counted from 1, with 0 for a free place. At least half is free.
    private let places: [Int]
    let former: Former?

    package static let empty = KeyRing([])

    package convenience init(_ keys: [DecryptionKey]) { self.init(keys, former: nil) }

    init(_ keys: [DecryptionKey], former: Former?) {
        self.keys = keys
        self.former = former
        var standard: [DecryptionKey] = []
        for key in keys
        where !standard.contains(where: { $0.use == key.use && $0.secret.count == key.secret.count }) {
            standard.append(key)
        }
        self.standard = standard
        var places = [Int](repeating: 0, count: 2 << (Int.bitWidth - keys.count.leadingZeroBitCount))
        for (position, key) in keys.enumerated() {
            guard let name = key.nameBytes else { continue }
            var place = Self.place(name.withUnsafeBytes(ByteHash.hash), among: places.count)
            while places[place] != 0 { place = (place + 1) & (places.count - 1) }
            places[place] = position + 1
        }
        self.places = places
    }

    private static func place(_ hash: UInt64, among count: Int) -> Int { Int(truncatingIfNeeded: hash) & (count - 1) }

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

    /// The first key of this name that fits.
    func key(named name: UnsafeRawBufferPointer, for need: KeyNeed) -> DecryptionKey? {
        var place = Self.place(ByteHash.hash(name), among: places.count)
        while places[place] != 0 {
            let key = keys[places[place] - 1]
            if need.fits(key), key.isNamed(name) { return key }
            place = (place + 1) & (places.count - 1)
        }
        return nil
    }
}
