/// How header values are written, without a `String` on the way.
extension [UInt8] {
    mutating func append(_ text: StaticString) { append(contentsOf: text.bytes) }

    mutating func append(decimal number: some BinaryInteger) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = UInt64(clamping: number.magnitude)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 { append(UInt8(ascii: "-")) }
            append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    mutating func append(_ source: Source) {
        append(contentsOf: source.topic.prefix)
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
