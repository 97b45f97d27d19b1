/// A quick hash for tables that outsiders cannot fill: nothing defends it against chosen collisions.
@usableFromInline
package enum ByteHash {
    @usableFromInline
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var state = UInt64(truncatingIfNeeded: bytes.count) ^ 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index &+ 8 <= bytes.count {
            state = mix(state, bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return mix(state, rest)
    }

    private static func mix(_ state: UInt64, _ word: UInt64) -> UInt64 {
        let product = (state ^ word).multipliedFullWidth(by: 0xA24B_AED4_963E_E407)
        return product.high ^ product.low
    }
}

/// The latest values by bytes of which they were made. As large as it will get from the start; what falls on the same
/// place takes it over.
@usableFromInline
package struct RecentValues<Value> {
    @usableFromInline var keys: [[UInt8]]
    /// Of each key; nil where there is none.
    @usableFromInline var values: [Value?]

    /// A power of two.
    @inlinable
    package init(capacity: Int) {
        keys = Array(repeating: [], count: capacity)
        values = Array(repeating: nil, count: capacity)
    }

    @inlinable
    package subscript(key: UnsafeRawBufferPointer) -> Value? {
        get {
            let place = place(of: key)
            return keys[place].withUnsafeBytes { key.hasBytes($0) } ? values[place] : nil
        }
        set {
            let place = place(of: key)
            keys[place] = newValue == nil ? [] : Array(key)
            values[place] = newValue
        }
    }

    @inlinable
    func place(of key: UnsafeRawBufferPointer) -> Int {
        Int(truncatingIfNeeded: ByteHash.hash(key)) & (keys.count - 1)
    }
}

extension RecentValues: Sendable where Value: Sendable {}
