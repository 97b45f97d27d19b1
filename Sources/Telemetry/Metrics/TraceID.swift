/// The trace id of a W3C `traceparent`.
public struct TraceID: Sendable, Equatable {
    let high: UInt64
    let low: UInt64

    /// From the header's value, `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; nil if it is not one.
    public init?(traceparent: UnsafeRawBufferPointer) {
        guard traceparent.count >= 55, traceparent[2] == UInt8(ascii: "-"), traceparent[35] == UInt8(ascii: "-"),
            let high = Self.word(traceparent[3..<19]), let low = Self.word(traceparent[19..<35]), high | low != 0
        else { return nil }
        self.high = high
        self.low = low
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Sixteen lower-case hex digits.
    private static func word(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var word: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): word = word << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): word = word << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return word
    }
}

extension TraceID: CustomStringConvertible {
    public var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}
