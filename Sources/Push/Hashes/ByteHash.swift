/// A quick hash for tables that outsiders cannot fill: nothing defends it against chosen collisions.
enum ByteHash {
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
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
