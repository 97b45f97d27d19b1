/// How binary is written as text.
package enum BinaryEncoding: String, CaseIterable, Sendable {
    /// Hex, base64 or base64url, which can be told apart.
    case auto
    case base64, base64url, hex
    /// ZeroMQ's base 85. One to three bytes that are left over at the end take a digit more than they are.
    case z85
}

/// Binary written as text. Every text has one meaning or none: what no encoder writes is malformed.
package enum BinaryText {
    /// Base64 may be padded or not, and be broken into lines, as `openssl` does. `output` has room for `text.count`
    /// bytes; returns how many were written.
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

    /// Reads a part of a JWE: base64url without padding and line breaks.
    static func decodeBare(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> Int {
        try decodeBase64(text, into: output, isBare: true)
    }

    /// Reads as `decode` does; empty if it is malformed.
    package static func bytes(_ text: Span<UInt8>, as encoding: BinaryEncoding = .auto) -> [UInt8] {
        text.withUnsafeBytes { text in
            [UInt8](unsafeUninitializedCapacity: text.count + 1) { bytes, count in
                guard let base = bytes.baseAddress else { return }
                count = (try? decode(text, as: encoding, into: base)) ?? 0
            }
        }
    }

    static func bytes(ofBare text: String) throws(DecryptFailure) -> [UInt8] {
        let text = Array(text.utf8)
        var bytes = [UInt8](repeating: 0, count: text.count)
        let count = try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
            var span = bytes.mutableSpan
            return try span.withUnsafeMutableBytes { (bytes) throws(DecryptFailure) in
                guard let base = bytes.baseAddress else { return 0 }
                return try decodeBare(text, into: base)
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
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
            for place in 0..<bytes {
                let byte = UInt8(truncatingIfNeeded: value >> UInt64(8 * (bytes - 1 - place)))
                output.storeBytes(of: byte, toByteOffset: count + place, as: UInt8.self)
            }
            index += digits
            count += bytes
        }
        return count
    }

    private static func decodeBase64(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer, isBare: Bool
    ) throws(DecryptFailure) -> Int {
        let sextets = sextets.span
        var index = 0
        var count = 0
        // Both loops write more bytes than they have, which the next round or nobody overwrites: there is room.
        while index &+ 8 <= text.count {
            let eight = text.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
            let first = three(UInt32(truncatingIfNeeded: eight), sextets)
            let second = three(UInt32(truncatingIfNeeded: eight >> 32), sextets)
            guard (first | second) & invalid == 0 else { break }
            let six = UInt64(first) << 40 | UInt64(second) << 16
            output.storeBytes(of: six.bigEndian, toByteOffset: count, as: UInt64.self)
            index &+= 8
            count &+= 6
        }
        while index &+ 4 <= text.count {
            let three = three(text.loadUnaligned(fromByteOffset: index, as: UInt32.self).littleEndian, sextets)
            guard three & invalid == 0 else { break }
            output.storeBytes(of: (three << 8).bigEndian, toByteOffset: count, as: UInt32.self)
            index &+= 4
            count &+= 3
        }
        // What is left is short, padded, broken into lines, or wrong.
        var bits: UInt32 = 0
        var held: UInt32 = 0
        var padding: UInt32 = 0
        for byte in text[index...] {
            let sextet = sextets[Int(byte)]
            switch byte {
            case _ where sextet != none && padding == 0:
                bits = bits << 6 | UInt32(sextet)
                held += 6
                guard held >= 8 else { continue }
                held -= 8
                output.storeBytes(of: UInt8(truncatingIfNeeded: bits >> held), toByteOffset: count, as: UInt8.self)
                count += 1
            case UInt8(ascii: "=") where !isBare && padding < 2: padding += 1
            case UInt8(ascii: "\n") where !isBare, UInt8(ascii: "\r") where !isBare: continue
            default: throw .malformed
            }
        }
        let rest = bits & (1 << held - 1)
        guard held < 6, rest == 0, padding == 0 || padding == held / 2 else { throw .malformed }
        return count
    }
}

private let none: UInt8 = 0xff
/// Set in what four characters give if one of them is none of base64.
private let invalid: UInt32 = 1 << 31

/// What four characters stand for, the first of them in the lowest byte.
@inline(__always)
private func three(_ quad: UInt32, _ sextets: Span<UInt8>) -> UInt32 {
    let a = sextets[Int(quad & 0xff)]
    let b = sextets[Int(quad >> 8 & 0xff)]
    let c = sextets[Int(quad >> 16 & 0xff)]
    let d = sextets[Int(quad >> 24)]
    let bits = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
    return bits | UInt32((a | b | c | d) & 0x80) << 24
}

private func table(_ value: (UInt8) -> UInt8) -> InlineArray<256, UInt8> {
    InlineArray { value(UInt8(truncatingIfNeeded: $0)) }
}

private let sextets = table { byte in
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: none
    }
}

private let hexDigits = table { byte in
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: none
    }
}

private let z85Digits = {
    let alphabet: StaticString =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    var digits = InlineArray<256, UInt8>(repeating: none)
    for digit in 0..<85 { digits[Int(alphabet.utf8Start[digit])] = UInt8(digit) }
    return digits
}()
