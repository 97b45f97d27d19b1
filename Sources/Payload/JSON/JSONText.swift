/// Converts strings between UTF-8 text and the form between the quotes of a JSON document.
@usableFromInline
package enum JSONText {
    package static func hexadecimalValue(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(digit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(digit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// Appends the text in quotes, escaping only what RFC 8259 requires. Bytes that are not UTF-8 become U+FFFD.
    package static func appendQuoted(_ text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(upTo: quotedCapacity(text.count)) { writeQuoted(text, to: $0) }
    }

    /// The bytes that `writeQuoted` may need for a text of `count` bytes: two quotes, `\u001F` for each, and a block.
    static func quotedCapacity(_ count: Int) -> Int { 2 + 6 * count + TextBlock.count }

    /// Writes the text as `appendQuoted` does; returns the number of bytes. With `isUTF8`, the text is not checked for
    /// it.
    static func writeQuoted(
        _ text: UnsafeBufferPointer<UInt8>, isUTF8: Bool = false, to output: UnsafeMutablePointer<UInt8>
    ) -> Int {
        output[0] = UInt8(ascii: "\"")
        var end = output + 1
        if let base = text.baseAddress {
            end.update(from: base, count: text.count)
            // These zeros stop the look-ahead.
            (end + text.count).update(repeating: 0, count: TextBlock.count)
            let plain = plainPrefix(end, count: text.count, isUTF8: isUTF8)
            end += plain
            if plain < text.count {
                end = escape(base + plain, count: text.count - plain, isUTF8: isUTF8, to: end)
            }
        }
        end[0] = UInt8(ascii: "\"")
        return end + 1 - output
    }

    /// How many leading bytes need no escape and are UTF-8. A block of zeros must follow the text.
    private static func plainPrefix(_ text: UnsafePointer<UInt8>, count: Int, isUTF8: Bool) -> Int {
        var at = 0
        while true {
            let plain = TextBlock.plainPrefix(text + at, isUTF8: isUTF8)
            at += plain
            if plain == TextBlock.count { continue }
            guard text[at] >= 0x80 else { return at }
            repeat {
                let length = UTF8Scalar.length(text + at, available: count - at)
                guard length > 0 else { return at }
                at += length
            } while text[at] >= 0x80
        }
    }

    /// How many bytes the text takes between its quotes.
    static func escapedCount(_ text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { count, byte in
            switch byte {
            case 0x08, 0x09, 0x0A, 0x0C, 0x0D, UInt8(ascii: "\""), UInt8(ascii: "\\"): count + 2
            case ..<0x20: count + 6
            default: count + 1
            }
        }
    }

    private static func escape(
        _ text: UnsafePointer<UInt8>, count: Int, isUTF8: Bool, to output: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        var end = output
        var at = 0
        while at < count {
            // Copies a whole block; bytes after the plain ones are overwritten later.
            if count - at >= TextBlock.count {
                end.update(from: text + at, count: TextBlock.count)
                let plain = TextBlock.plainPrefix(text + at, isUTF8: isUTF8)
                at += plain
                end += plain
                if plain == TextBlock.count { continue }
            }
            let byte = text[at]
            var length = 1
            if byte >= 0x80 {
                // In a UTF-8 text, the last block may have ended within a scalar.
                if !isUTF8 { length = UTF8Scalar.length(text + at, available: count - at) }
            } else if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                length = 0
            }
            if length == 0 {
                end = writeReplacement(of: byte, to: end)
                at += 1
            } else {
                end.update(from: text + at, count: length)
                end += length
                at += length
            }
        }
        return end
    }

    private static func writeReplacement(
        of byte: UInt8, to output: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        func write(_ text: StaticString) -> UnsafeMutablePointer<UInt8> {
            output.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
            return output + text.utf8CodeUnitCount
        }
        switch byte {
        case 0x80...: return write("\u{FFFD}")
        case UInt8(ascii: "\""): return write("\\\"")
        case UInt8(ascii: "\\"): return write("\\\\")
        case 0x08: return write("\\b")
        case 0x09: return write("\\t")
        case 0x0A: return write("\\n")
        case 0x0C: return write("\\f")
        case 0x0D: return write("\\r")
        default:
            let end = write(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 15
            end[0] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            return end + 1
        }
    }
}

extension [UInt8] {
    /// Appends the text as a JSON string, quotes included.
    package mutating func append(quoted text: String) {
        var text = text
        text.withUTF8 { JSONText.appendQuoted($0, to: &self) }
    }

    /// In base64 if `isEncoded`.
    mutating func append(quoted text: UnsafeRawBufferPointer, isEncoded: Bool) {
        guard isEncoded else { return JSONText.appendQuoted(text.bindMemory(to: UInt8.self), to: &self) }
        append(UInt8(ascii: "\""))
        Base64.encode(text, into: &self)
        append(UInt8(ascii: "\""))
    }

    // MARK: - Members

    /// Appends a member up to its value, with a comma first unless its object has just begun.
    package mutating func begin(_ name: StaticString, _ ending: StaticString = "") {
        append(last == UInt8(ascii: "{") ? "\"" : ",\"")
        append(name)
        append(ending)
        append("\":")
    }

    /// Null for nil. If the text is not UTF-8, it goes, in base64, into a member whose name ends in `_b64`.
    package mutating func append(_ text: UnsafeRawBufferPointer?, as name: StaticString) {
        let isEncoded = text.map { !UTF8Scalar.isText($0) } ?? false
        begin(name, isEncoded ? "_b64" : "")
        if let text { append(quoted: text, isEncoded: isEncoded) } else { append("null") }
    }

    package mutating func append(_ text: String, as name: StaticString) {
        begin(name)
        append(quoted: text)
    }

    package mutating func append(_ number: some BinaryInteger, as name: StaticString) {
        begin(name)
        append(decimal: number)
    }
}

extension JSONText {
    /// Passes on the text of a string's escaped bytes (without the quotes; already validated). An unpaired surrogate
    /// becomes U+FFFD.
    @inlinable
    static func withUnescaped<R, E: Error>(
        _ escaped: UnsafeBufferPointer<UInt8>, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        // A closure with typed throws cannot pass through the allocation's `rethrows`.
        let result: Result<R, E> = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: escaped.count) { scratch in
            let count = unescape(escaped, into: scratch)
            let text = UnsafeBufferPointer(rebasing: scratch[..<count])
            do throws(E) {
                return .success(try body(text.span))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Writes at most as many bytes as it reads.
    @usableFromInline
    static func unescape(
        _ escaped: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var from = 0
        var to = 0
        while from < escaped.count {
            let byte = escaped[from]
            guard byte == UInt8(ascii: "\\"), from + 1 < escaped.count else {
                output[to] = byte
                from += 1
                to += 1
                continue
            }
            let letter = escaped[from + 1]
            if letter == UInt8(ascii: "u") {
                var scalar = codeUnit(escaped, from)
                from += 6
                if scalar & 0xFC00 == 0xD800 {
                    let low = codeUnit(escaped, from)
                    if low & 0xFC00 == 0xDC00 {
                        scalar = 0x10000 + (scalar & 0x3FF) << 10 + (low & 0x3FF)
                        from += 6
                    }
                }
                let valid = Unicode.Scalar(scalar) ?? "\u{FFFD}"
                for unit in valid.utf8 {
                    output[to] = unit
                    to += 1
                }
            } else {
                output[to] = unescaped(letter)
                from += 2
                to += 1
            }
        }
        return to
    }

    /// The UTF-16 code unit of the `\uXXXX` that begins here, or 0 if none does.
    private static func codeUnit(_ escaped: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt32 {
        guard start + 6 <= escaped.count, escaped[start] == UInt8(ascii: "\\"), escaped[start + 1] == UInt8(ascii: "u")
        else { return 0 }
        var unit: UInt32 = 0
        for digit in start + 2..<start + 6 { unit = unit << 4 | (hexadecimalValue(escaped[digit]) ?? 0) }
        return unit
    }

    private static func unescaped(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }
}
