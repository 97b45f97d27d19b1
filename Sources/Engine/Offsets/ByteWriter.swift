/// Writes bytes, LEB128 integers and, between them, bits (the highest first).
struct ByteWriter {
    var bytes: [UInt8] = []
    private var pending: UInt8 = 0
    private var pendingCount = 0

    mutating func write(varint value: UInt64) {
        var value = value
        while value > 0x7f {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }

    static func size(ofVarint value: UInt64) -> Int { max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7) }

    /// Exp-Golomb: as many zeros as the number that follows, value + 2^order, has bits above its order.
    mutating func write(expGolomb value: UInt64, order: Int) {
        let number = value + (1 << UInt64(order))
        let width = UInt64.bitWidth - number.leadingZeroBitCount
        for _ in order + 1..<width { write(bit: 0) }
        for shift in (0..<width).reversed() { write(bit: UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 1) }
    }

    static func size(ofExpGolomb value: UInt64, order: Int) -> Int {
        let width = UInt64.bitWidth - (value + (1 << UInt64(order))).leadingZeroBitCount
        return 2 * width - order - 1
    }

    private mutating func write(bit: UInt8) {
        pending = pending << 1 | bit
        pendingCount += 1
        guard pendingCount == 8 else { return }
        bytes.append(pending)
        (pending, pendingCount) = (0, 0)
    }

    /// Fills the last byte with zeros.
    mutating func endBits() { while pendingCount > 0 { write(bit: 0) } }
}
