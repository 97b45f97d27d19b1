import PushmillPayload

@testable import PushmillEngine

/// Offset metadata with any body gives an ordered set that can be written again, or is refused.
final class OffsetTarget: FuzzTarget {
    static let names = ["offsets"]
    private static let base: Int64 = 77

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        // As it is, and as the body of metadata in our format with a valid checksum.
        try read(String(decoding: bytes, as: UTF8.self))
        let checksum = OffsetMetadata.checksum(of: bytes)
        let sum = (0..<OffsetMetadata.checksumSize).map { UInt8(truncatingIfNeeded: checksum >> UInt32(8 * $0)) }
        for version in 1...2 { try read("\(OffsetMetadata.mark)\(version)" + Base64.urlText(sum + bytes)) }
    }

    private func read(_ text: String) throws {
        guard let metadata = try? OffsetMetadata(decoding: text, committedAt: Self.base) else { return }
        var end = Self.base
        for range in metadata.completed {
            try promise(range.lowerBound > end && !range.isEmpty, "offsets out of order")
            end = range.upperBound
        }
        for version in [FormatVersion.current, .next] {
            let again = metadata.encoded(version: version)
            try promise(again.text.utf8.count <= OffsetMetadata.limit, "longer than brokers take")
            let reread = try OffsetMetadata(decoding: again.text, committedAt: Self.base)
            try promise(again.leftOut > 0 || reread == metadata, "another set after writing")
        }
        let ledger = OffsetLedger(startingAt: Self.base, completed: metadata.completed, spanLimit: 1 << 12)
        try promise(ledger.span <= 1 << 12, "a ledger beyond its limit")
    }
}
