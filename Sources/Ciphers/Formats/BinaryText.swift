import PushmillPayload

/// How binary data is written as text.
package enum BinaryEncoding: String, CaseIterable, Sendable {
    /// Hex, base64 or base64url, which can be told apart.
    case auto
    case base64, base64url, hex
    /// ZeroMQ's base 85. One to three bytes left over at the end take one digit more than there are bytes.
    case z85
}

/// Binary data written as text. A text decodes in one way or not at all: what no encoder writes is malformed.
package enum BinaryText {
    /// Base64 may be padded or not, and may have line breaks, as `openssl` writes them. `output` must have room for
    /// `text.count` bytes; returns how many were written.
    static func decode(
        _ text: UnsafeRawBufferPointer, as encoding: BinaryEncoding, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> Int {
        switch encoding {
        case .auto, .hex:
            if text.count & 1 == 0, text.allSatisfy({ hexDigits[Int($0)] != none }) {
                return decodeHex(text, into: output)
            }
            guard encoding == .auto else { throw .malformed }
        case .base64: guard !text.contains(where: { "-_".utf8.contains($0) }) else { throw .malformed }
        case .base64url: guard !text.contains(where: { "+/".utf8.contains($0) }) else { throw .malformed }
        case .z85: return try decodeZ85(text, into: output)
        }
        return try decodeBase64(text, into: output, isBare: false)
    }

    /// Reads base64. If `isBare`, it has neither padding nor line breaks, as in a JWE.
    static func decodeBase64(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer, isBare: Bool = true
    ) throws(DecryptFailure) -> Int {
        let (count, rest) = try decodePart(text, into: output, isBare: isBare)
        guard rest.isEmpty else { throw .malformed }
        return count
    }

    /// Reads as `decode` does; empty if the text is malformed.
    package static func bytes(_ text: Span<UInt8>, as encoding: BinaryEncoding = .auto) -> [UInt8] {
        text.withUnsafeBytes { text in
            [UInt8](unsafeUninitializedCapacity: text.count + 1) { bytes, count in
                guard let base = bytes.baseAddress else { return }
                count = (try? decode(text, as: encoding, into: base)) ?? 0
            }
        }
    }

    static func bytes(ofBare text: String) throws(DecryptFailure) -> [UInt8] {
        let bytes = try Array(text.utf8).span.withUnsafeBytes { (text) throws(DecryptFailure) in
            try SecretBytes(base64URL: text)
        }
        return withExtendedLifetime(bytes) { Array(bytes.bytes) }
    }

    private static func decodeHex(_ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer) -> Int {
        let count = text.count / 2
        for index in 0..<count {
            let byte = hexDigits[Int(text[index &* 2])] << 4 | hexDigits[Int(text[index &* 2 &+ 1])]
            output.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
        return count
    }

    private static func decodeZ85(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> Int {
        var count = 0
        var index = 0
        while index < text.count {
            let digits = min(5, text.count - index)
            var value: UInt64 = 0
            for byte in text[index..<index + digits] {
                guard z85Digits[Int(byte)] != none else { throw .malformed }
                value = value * 85 + UInt64(z85Digits[Int(byte)])
            }
            let bytes = digits - 1
            guard bytes > 0, value >> UInt64(8 * bytes) == 0 else { throw .malformed }
            for offset in 0..<bytes {
                let byte = UInt8(truncatingIfNeeded: value >> UInt64(8 * (bytes - 1 - offset)))
                output.storeBytes(of: byte, toByteOffset: count + offset, as: UInt8.self)
            }
            index += digits
            count += bytes
        }
        return count
    }

    /// Reads base64 as far as it goes; returns the number of bytes and the rest of the text. If `isBare`, there is
    /// neither padding nor line breaks. `output` must have room for `text.count` bytes.
    @inline(__always)
    static func decodePart(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer, isBare: Bool = true
    ) throws(DecryptFailure) -> (count: Int, rest: UnsafeRawBufferPointer) {
        let quads = quads
        var (index, count) = decodeQuads(text, into: output, quads)
        // The rest is short, padded, broken into lines, or not base64.
        var bits: UInt32 = 0
        var held: UInt32 = 0
        var padding: UInt32 = 0
        while index < text.count {
            let byte = text[index]
            let last = quads[3 * 256 + Int(byte)]
            if last & invalid == 0, padding == 0 {
                bits = bits << 6 | last >> 16
                held &+= 6
                if held >= 8 {
                    held &-= 8
                    output.storeBytes(of: UInt8(truncatingIfNeeded: bits >> held), toByteOffset: count, as: UInt8.self)
                    count &+= 1
                }
            } else if !isBare, byte == UInt8(ascii: "="), padding < 2 {
                padding &+= 1
            } else if isBare || byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\r") {
                break
            }
            index &+= 1
        }
        let rest = bits & (1 << held - 1)
        guard held < 6, rest == 0, padding == 0 || padding == held / 2 else { throw .malformed }
        return (count, UnsafeRawBufferPointer(rebasing: text[index...]))
    }

    /// Decodes groups of four characters; returns how many characters it read and bytes it wrote. Overwrites up to two
    /// bytes more, but never more than there are characters.
    @inline(__always)
    private static func decodeQuads(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer, _ quads: UnsafePointer<UInt32>
    ) -> (read: Int, written: Int) {
        var index = 0
        var count = 0
        while index &+ 8 <= text.count {
            let first = three(text, index, quads)
            let second = three(text, index &+ 4, quads)
            guard (first | second) & invalid == 0 else { break }
            let six = UInt64(first) | UInt64(second) << 24
            output.storeBytes(of: six.littleEndian, toByteOffset: count, as: UInt64.self)
            index &+= 8
            count &+= 6
        }
        while index &+ 4 <= text.count {
            let three = three(text, index, quads)
            guard three & invalid == 0 else { break }
            output.storeBytes(of: three.littleEndian, toByteOffset: count, as: UInt32.self)
            index &+= 4
            count &+= 3
        }
        return (index, count)
    }
}

private let none: UInt8 = 0xff
/// Set in the result of `three` if one of the four characters is not base64.
private let invalid: UInt32 = 1 << 31

/// The bits of each character as the first to the fourth of its group, with the first byte in the lowest bits.
///
/// Allocated by hand, kept for the life of the process and written only here: Swift copies other storage to index it.
/// Each of the four tables has an entry for every byte.
nonisolated(unsafe) private let quads = {
    let quads = UnsafeMutablePointer<UInt32>.allocate(capacity: 4 * 256)
    for index in 0..<4 * 256 {
        let sextet = Base64.sextet(UInt8(index % 256))
        quads[index] = sextet.map { ($0 << UInt32(26 - 6 * (index / 256))).byteSwapped } ?? invalid
    }
    return UnsafePointer(quads)
}()

/// The three bytes that the four characters at `index` encode.
@inline(__always)
private func three(_ text: UnsafeRawBufferPointer, _ index: Int, _ quads: UnsafePointer<UInt32>) -> UInt32 {
    quads[Int(text[index])] | quads[256 + Int(text[index &+ 1])]
        | quads[2 * 256 + Int(text[index &+ 2])] | quads[3 * 256 + Int(text[index &+ 3])]
}

private let hexDigits = InlineArray<256, UInt8> { byte in
    JSONText.hexadecimalValue(UInt8(truncatingIfNeeded: byte)).map { UInt8(truncatingIfNeeded: $0) } ?? none
}

private let z85Digits = {
    let alphabet: StaticString =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    var digits = InlineArray<256, UInt8>(repeating: none)
    for digit in 0..<85 { digits[Int(alphabet.utf8Start[digit])] = UInt8(digit) }
    return digits
}()
