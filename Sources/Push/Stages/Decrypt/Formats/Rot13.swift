/// The cipher of tutorials: letters change places with those 13 further on.
enum Rot13 {
    static func turn(_ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
        for index in text.indices { output[index] = turn(text[index]) }
    }

    private static func turn(_ byte: UInt8) -> UInt8 {
        switch byte | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
        case UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
        default: byte
        }
    }
}
