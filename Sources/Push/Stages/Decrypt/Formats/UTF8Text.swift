extension UTF8Scalar {
    /// True for well-formed UTF-8 from beginning to end.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
        var index = 0
        while index < bytes.count {
            if index &+ 8 <= bytes.count, TextWord.load(base + index) & 0x8080_8080_8080_8080 == 0 {
                index &+= 8
            } else if base[index] < 0x80 {
                index &+= 1
            } else {
                let length = length(base + index, available: bytes.count - index)
                guard length > 0 else { return false }
                index &+= length
            }
        }
        return true
    }
}
