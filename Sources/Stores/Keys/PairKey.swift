import Glibc

/// Two byte strings that are one key: recipient and app, owner and identifier.
struct PairKey: Sendable {
    private let bytes: [UInt8]
    private let split: Int

    init(_ first: RawSpan, _ second: RawSpan) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(first.byteCount + second.byteCount)
        first.withUnsafeBytes { bytes.append(contentsOf: $0) }
        second.withUnsafeBytes { bytes.append(contentsOf: $0) }
        self.bytes = bytes
        split = first.byteCount
    }

    func equals(_ first: RawSpan, _ second: RawSpan) -> Bool {
        let whole = bytes.span.bytes
        return whole.extracting(first: split).hasSameBytes(as: first)
            && whole.extracting(droppingFirst: split).hasSameBytes(as: second)
    }

    func withParts<Result, E: Error>(_ body: (RawSpan, RawSpan) throws(E) -> Result) throws(E) -> Result {
        let whole = bytes.span.bytes
        return try body(whole.extracting(first: split), whole.extracting(droppingFirst: split))
    }
}

extension RawSpan {
    func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return memcmp(left, right, byteCount) == 0
            }
        }
    }
}
