/// How header values are written, without a `String` on the way.
extension [UInt8] {
    mutating func append(_ text: StaticString) { append(contentsOf: text.bytes) }

    mutating func append(decimal number: some BinaryInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        let start = count
        var rest = number.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest > 0
        self[start...].reverse()
    }

    /// The bytes in lower-case hex, the highest first.
    mutating func append(hex number: UInt64, byteCount: Int) {
        for position in (0..<byteCount).reversed() {
            append(hex: UInt8(truncatingIfNeeded: number >> UInt64(position * 8)))
        }
    }

    mutating func append(hex byte: UInt8) {
        for digit in [byte >> 4, byte & 15] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
        }
    }

    mutating func append(_ source: Source) {
        append(contentsOf: source.topic.name.utf8)
        append(UInt8(ascii: "/"))
        append(decimal: source.partition)
        append(UInt8(ascii: "/"))
        append(decimal: source.offset)
    }

    mutating func append(_ result: StageResult) {
        switch result {
        case .ok: append("ok")
        case .skipped: append("skipped")
        case .expired: append("expired")
        case .word(let word): append(word)
        case .failed(let reason):
            append("failed:")
            append(reason)
        }
    }
}
