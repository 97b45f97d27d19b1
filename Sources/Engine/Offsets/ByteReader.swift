/// Reads what `ByteWriter` writes, and nothing that it would not write: nil for anything else.
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

    /// nil where there are not as many.
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
            // A last byte of zero says nothing: the writer has none.
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

    /// Goes on at the next whole byte; false when the bits skipped are not zero.
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
