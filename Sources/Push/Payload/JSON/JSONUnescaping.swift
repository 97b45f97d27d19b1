extension JSONText {
    /// Gives the text of a string's escaped bytes (without the quotes; read and found sound before). A surrogate that is
    /// not half of a pair becomes U+FFFD.
    static func withUnescaped<R, E: Error>(
        _ escaped: UnsafeBufferPointer<UInt8>, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        // A closure of typed throws cannot pass through the allocation's rethrows.
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
    private static func unescape(
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

    /// The UTF-16 code unit of the `\uXXXX` that begins here, or 0 where none does.
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
