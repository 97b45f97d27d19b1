import CPushmillText

/// The tokens of the grammar: each function takes the offset where one begins and returns the offset after it.
/// `JSONDocument.padding` zero bytes must follow the text. No rule of the grammar accepts a zero, so no look-ahead
/// needs a bounds check.
struct JSONTokens {
    let bytes: UnsafePointer<UInt8>
    /// The offset after the text's last byte.
    let end: Int

    @inline(__always)
    func skipWhitespace(_ start: Int) -> Int {
        var at = start
        while bytes[at] <= 0x20 {
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return at
            }
        }
        return at
    }

    /// Takes the offset after the opening quote; returns that of the closing one. Most strings are short and plain.
    @inline(__always)
    func skipString(_ start: Int) throws(PayloadError) -> (close: Int, isEscaped: Bool) {
        let plain = TextBlock.plainPrefix(bytes + start)
        if plain < TextBlock.count, bytes[start &+ plain] == UInt8(ascii: "\"") { return (start &+ plain, false) }
        return try skipLongString(start)
    }

    @inline(never)
    private func skipLongString(_ start: Int) throws(PayloadError) -> (close: Int, isEscaped: Bool) {
        var isEscaped = false
        var at = start
        while true {
            let plain = TextBlock.plainPrefix(bytes + at)
            guard plain < TextBlock.count else {
                at &+= TextBlock.count
                continue
            }
            at += plain
            switch bytes[at] {
            case UInt8(ascii: "\""):
                return (at, isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                at = try skipEscape(at)
            case 0x80...:
                repeat {
                    let length = UTF8Scalar.length(bytes + at, available: end - at)
                    guard length > 0 else { throw fault(.invalidUTF8, at) }
                    at += length
                } while bytes[at] >= 0x80
            default:
                throw fault(.controlCharacter, at)
            }
        }
    }

    private func skipEscape(_ start: Int) throws(PayloadError) -> Int {
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            for digit in start + 2..<start + 6 where JSONText.hexadecimalValue(bytes[digit]) == nil {
                throw fault(.invalidEscape, digit)
            }
            return start + 6
        default:
            throw fault(.invalidEscape, start + 1)
        }
    }

    func skipNumber(_ start: Int) throws(PayloadError) -> Int {
        var at = start
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        if bytes[at] == UInt8(ascii: "0") {
            at += 1
        } else {
            at = try skipDigits(at)
        }
        if bytes[at] == UInt8(ascii: ".") { at = try skipDigits(at + 1) }
        if bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
            at = try skipDigits(at)
        }
        return at
    }

    private func skipDigits(_ start: Int) throws(PayloadError) -> Int {
        var at = start
        while bytes[at] &- UInt8(ascii: "0") < 10 { at += 1 }
        guard at > start else { throw fault(.invalidNumber, at) }
        return at
    }

    func skipLiteral(_ literal: StaticString, _ start: Int) throws(PayloadError) -> Int {
        for position in 0..<literal.utf8CodeUnitCount where bytes[start + position] != literal.utf8Start[position] {
            throw fault(.unexpectedByte, start + position)
        }
        return start + literal.utf8CodeUnitCount
    }

    @inline(never)
    func fault(_ fault: JSONFault, _ at: Int) -> PayloadError {
        guard at < end else { return .notJSON(offset: at, fault: .unexpectedEnd) }
        // A byte order mark is invisible, so the error names it.
        let isMark = UnsafeBufferPointer(start: bytes + at, count: end - at).starts(with: ByteOrderMark.bytes)
        return .notJSON(offset: at, fault: isMark && fault == .unexpectedByte ? .byteOrderMark : fault)
    }
}

/// Checks sixteen bytes at once.
enum TextBlock {
    static let count = 16

    /// How many leading bytes are plain: ASCII, no control character, no quote, no backslash. If the text is known to be
    /// UTF-8, bytes beyond ASCII are plain too. If all are (16), the next block is checked without waiting for a bit count.
    @inline(__always)
    static func plainPrefix(_ bytes: UnsafePointer<UInt8>, isUTF8: Bool = false) -> Int {
        let stops = isUTF8 ? pushmill_escapes(bytes) : pushmill_stops(bytes)
        return stops == 0 ? count : stops.trailingZeroBitCount
    }
}

/// UTF-8 as the Unicode standard defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
package enum UTF8Scalar {
    /// The number of bytes (2 to 4) of the scalar that begins here with a byte from 0x80 up, or 0 if it is invalid.
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

    /// True for well-formed UTF-8 from beginning to end.
    package static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        (try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)) != nil
    }
}
