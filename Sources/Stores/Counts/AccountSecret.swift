/// What accounts are hashed with, so that nobody outside can choose keys that collide. SipHash-2-4 of 128 bits.
public struct AccountSecret: Equatable, Sendable {
    private let first: UInt64
    private let second: UInt64

    public init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Of a changelog's key.
    public func hash(_ key: UnsafeRawBufferPointer) -> AccountHash {
        var state = SipState(first, second)
        let whole = key.count & ~7
        var at = 0
        while at < whole {
            state.add(UInt64(littleEndian: key.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
            at += 8
        }
        var last = UInt64(truncatingIfNeeded: key.count) << 56
        while at < key.count {
            last |= UInt64(key[at]) << UInt64((at & 7) * 8)
            at += 1
        }
        state.add(last)
        return state.finish()
    }
}

/// Two rounds for each word, four at the end of each half, as in the reference.
private struct SipState {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    @inline(__always)
    init(_ k0: UInt64, _ k1: UInt64) {
        v0 = k0 ^ 0x736f_6d65_7073_6575
        v1 = k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = k0 ^ 0x6c79_6765_6e65_7261
        v3 = k1 ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    @inline(__always)
    mutating func finish() -> AccountHash {
        v2 ^= 0xee
        let first = half()
        v1 ^= 0xdd
        return AccountHash(high: first, low: half())
    }

    @inline(__always)
    private mutating func half() -> UInt64 {
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 &+= v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 &+= v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }
}
