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

    /// Exp-Golomb: writes value + 2^order, preceded by as many zeros as that number has bits above its bit `order`.
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

/// Reads only what `ByteWriter` would write: nil for anything else.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0
    /// Bits already read of the byte at `position`.
    private var bitPosition = 0

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// nil if fewer bytes are left.
    mutating func bytes(_ count: UInt64) -> ArraySlice<UInt8>? {
        guard count <= UInt64(bytes.count - position) else { return nil }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    mutating func rest() -> ArraySlice<UInt8> {
        defer { position = bytes.count }
        return bytes[position...]
    }

    mutating func varint() -> UInt64? {
        var (value, shift) = (UInt64(0), UInt64(0))
        while let byte = byte() {
            guard shift < 63 else { return nil }
            value |= UInt64(byte & 0x7f) << shift
            // A last byte of zero adds nothing: the writer never ends with one.
            if byte < 0x80 { return byte == 0 && shift > 0 ? nil : value }
            shift += 7
        }
        return nil
    }

    mutating func expGolomb(order: Int) -> UInt64? {
        var width = order + 1
        while true {
            guard let bit = bit(), width <= UInt64.bitWidth else { return nil }
            if bit == 1 { break }
            width += 1
        }
        var number: UInt64 = 1
        for _ in 1..<width {
            guard let bit = bit() else { return nil }
            number = number << 1 | UInt64(bit)
        }
        return number - (1 << UInt64(order))
    }

    /// Skips to the next whole byte; false if the skipped bits are not zero.
    mutating func endBits() -> Bool {
        while bitPosition > 0 {
            guard bit() == 0 else { return false }
        }
        return true
    }

    private mutating func bit() -> UInt8? {
        guard position < bytes.count else { return nil }
        let bit = bytes[position] >> UInt8(7 - bitPosition) & 1
        bitPosition += 1
        if bitPosition == 8 { (position, bitPosition) = (position + 1, 0) }
        return bit
    }
}
