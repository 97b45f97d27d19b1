/// UTF-8 as the Unicode standard has it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
enum UTF8Scalar {
    /// The number of bytes (2 to 4) of the scalar that begins here with a byte from 0x80 up, or 0 if there is none.
    static func length(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
        let first = bytes[0]
        if first < 0xE0 {
            return first >= 0xC2 && available > 1 && bytes[1] & 0xC0 == 0x80 ? 2 : 0
        }
        guard available > 2 else { return 0 }
        let second = bytes[1]
        guard second & 0xC0 == 0x80, bytes[2] & 0xC0 == 0x80 else { return 0 }
        if first < 0xF0 {
            let isOverlong = first == 0xE0 && second < 0xA0
            let isSurrogate = first == 0xED && second >= 0xA0
            return isOverlong || isSurrogate ? 0 : 3
        }
        guard first < 0xF5, available > 3, bytes[3] & 0xC0 == 0x80 else { return 0 }
        let isOverlong = first == 0xF0 && second < 0x90
        let isBeyond = first == 0xF4 && second >= 0x90
        return isOverlong || isBeyond ? 0 : 4
    }
}
