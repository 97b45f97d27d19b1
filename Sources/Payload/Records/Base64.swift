/// Base64 (RFC 4648): written with the standard alphabet and padding, or without padding for URLs; read with either
/// alphabet, padded or not.
package enum Base64 {
    private static let standard: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private static let url: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    package static func urlText(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        bytes.withUnsafeBytes { encode($0, forURL: true, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    package static func encode(_ bytes: UnsafeRawBufferPointer, forURL: Bool = false, into text: inout [UInt8]) {
        let alphabet = forURL ? url : standard
        var start = 0
        while start < bytes.count {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for position in 0..<3 { bits = bits << 8 | (position < count ? UInt32(bytes[start + position]) : 0) }
            for position in 0..<4 {
                let sextet = Int(bits >> (18 - 6 * UInt32(position)) & 63)
                if position <= count {
                    text.append(alphabet.utf8Start[sextet])
                } else if !forURL {
                    text.append(UInt8(ascii: "="))
                }
            }
            start += 3
        }
    }

    /// False for text that no encoder writes; some bytes may have been appended by then.
    package static func decode(_ text: Span<UInt8>, into bytes: inout [UInt8]) -> Bool {
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        var bits: UInt32 = 0
        var held: UInt32 = 0
        for position in 0..<end {
            guard let sextet = sextet(text[position]) else { return false }
            bits = bits << 6 | sextet
            held += 6
            guard held >= 8 else { continue }
            held -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> held))
        }
        let padding = text.count - end
        return held < 6 && bits & (1 << held - 1) == 0 && (padding == 0 || padding == Int(held) / 2)
    }

    /// The value of a character in either alphabet.
    package static func sextet(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
