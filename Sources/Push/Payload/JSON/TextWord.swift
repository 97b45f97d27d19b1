/// Eight bytes of text at once.
enum TextWord {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    static func load(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    /// How many bytes from the first are plain: ASCII, no control character, no quote, no backslash. 8 if all are.
    static func plainPrefix(_ word: UInt64) -> Int {
        let controls = (word &- 0x20 &* ones) & ~word
        let quotes = word ^ (0x22 &* ones)
        let backslashes = word ^ (0x5C &* ones)
        let stops = (controls | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | word) & highs
        return stops.trailingZeroBitCount >> 3
    }
}
