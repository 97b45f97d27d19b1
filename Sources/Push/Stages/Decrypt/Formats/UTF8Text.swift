extension UTF8Scalar {
    /// True for well-formed UTF-8 from beginning to end.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
        var index = 0
        while index < bytes.count {
            if index &+ TextBlock.count <= bytes.count, TextBlock.isASCII(base + index) {
                index &+= TextBlock.count
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
