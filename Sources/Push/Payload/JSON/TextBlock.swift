/// Sixteen bytes of text at once, as two words.
enum TextBlock {
    static let count = 16
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// How many bytes from the first are plain: ASCII, no control character, no quote, no backslash. 16 if all are; what
    /// follows then is looked at without waiting for a number.
    @inline(__always)
    static func plainPrefix(_ bytes: UnsafePointer<UInt8>) -> Int {
        let first = stops(word(bytes))
        let second = stops(word(bytes + 8))
        if first | second == 0 { return count }
        return first != 0 ? first.trailingZeroBitCount >> 3 : 8 + second.trailingZeroBitCount >> 3
    }

    @inline(__always)
    static func isASCII(_ bytes: UnsafePointer<UInt8>) -> Bool { (word(bytes) | word(bytes + 8)) & highs == 0 }

    @inline(__always)
    private static func word(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    /// Marks each byte that is not plain; behind the first of them, others too.
    @inline(__always)
    private static func stops(_ word: UInt64) -> UInt64 {
        let controls = (word &- 0x20 &* ones) & ~word
        let quotes = word ^ (0x22 &* ones)
        let backslashes = word ^ (0x5C &* ones)
        return (controls | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | word) & highs
    }
}
