/// A fast hash for tables, like wyhash: multiplies sixteen bytes at a time into 128 bits and XORs the two halves.
@usableFromInline
package enum ByteHash {
    /// For tables that outsiders cannot fill: there is no defense against chosen collisions.
    @usableFromInline
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        hash(bytes, after: 0, by: (0x9E37_79B9_7F4A_7C15, 0xA24B_AED4_963E_E407))
    }

    /// With random secret factors, nobody can choose colliding keys. `state`: the hash of what precedes these bytes.
    package static func hash(
        _ bytes: UnsafeRawBufferPointer, after state: UInt64, by factors: (UInt64, UInt64)
    ) -> UInt64 {
        let count = bytes.count
        var state = fold(state ^ factors.0, UInt64(truncatingIfNeeded: count) ^ factors.1)
        var at = 0
        while count - at > 16 {
            state = fold(word(bytes, at) ^ factors.0, word(bytes, at + 8) ^ state)
            at += 16
        }
        if count - at >= 8 { return fold(word(bytes, at) ^ factors.0, word(bytes, count - 8) ^ state) }
        var last: UInt64 = 0
        while at < count {
            last = last << 8 | UInt64(bytes[at])
            at += 1
        }
        return fold(last ^ factors.0, state ^ factors.1)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

/// A cache of the latest values by the bytes they were made from. Its size is fixed; a key that falls on a used slot
/// evicts the old one.
@usableFromInline
package struct RecentValues<Value> {
    @usableFromInline var keys: [[UInt8]]
    /// The value of each key; nil if there is none.
    @usableFromInline var values: [Value?]

    /// `capacity` must be a power of two.
    @inlinable
    package init(capacity: Int) {
        keys = Array(repeating: [], count: capacity)
        values = Array(repeating: nil, count: capacity)
    }

    @inlinable
    package subscript(key: UnsafeRawBufferPointer) -> Value? {
        get {
            let slot = slot(of: key)
            return keys[slot].withUnsafeBytes { key.hasBytes($0) } ? values[slot] : nil
        }
        set {
            let slot = slot(of: key)
            keys[slot] = newValue == nil ? [] : Array(key)
            values[slot] = newValue
        }
    }

    @inlinable
    func slot(of key: UnsafeRawBufferPointer) -> Int {
        Int(truncatingIfNeeded: ByteHash.hash(key)) & (keys.count - 1)
    }
}

extension RecentValues: Sendable where Value: Sendable {}
