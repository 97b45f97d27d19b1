import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Damaged or forged commit metadata")
struct OffsetMetadataFuzzTests {
    /// Wraps any body in a valid text with a matching checksum.
    private func forged(_ body: [UInt8], version: Int = 1) -> String {
        let checksum = OffsetMetadata.checksum(of: body)
        let sum = (0..<4).map { UInt8(truncatingIfNeeded: checksum >> UInt32(8 * $0)) }
        return "\(OffsetMetadata.mark)\(version)" + Base64.urlText(sum + body)
    }

    private func body(of metadata: OffsetMetadata) throws -> [UInt8] {
        let text = metadata.encoded().text
        var bytes: [UInt8] = []
        try #require(Base64.decode(Array(text.utf8.dropFirst(4)).span, into: &bytes))
        return Array(bytes.dropFirst(4))
    }

    private func mutated(_ original: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var body = original
        for _ in 0..<Int.random(in: 0...3, using: &random) where !body.isEmpty {
            let index = Int.random(in: 0..<body.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: body[index] = random.byte()
            case 1: body[index] ^= 1 << (random.byte() & 7)
            case 2: body.remove(at: index)
            default: body.insert(random.byte(), at: index)
            }
        }
        return random.once(in: 8) ? [77, random.byte() & 3] + body : body
    }

    @Test("Metadata with a single wrong character is rejected", arguments: [(20, 3), (2_000, 2), (9_000, 100)])
    func oneCharacter(span: Int64, odds: Int) throws {
        let metadata = OffsetMetadataTests.set(span: span, hangingOneIn: odds)
        let text = Array(metadata.encoded().text.utf8)
        var random = SeededGenerator(seed: 3)
        for index in text.indices {
            var damaged = text
            let others = (UInt8(33)...126).filter { $0 != text[index] }
            damaged[index] = try #require(others.randomElement(using: &random))
            #expect(throws: OffsetMetadata.Rejection.self) {
                try OffsetMetadata(decoding: String(decoding: damaged, as: UTF8.self), committedAt: metadata.base)
            }
        }
    }

    @Test("Truncated metadata is rejected")
    func truncated() {
        let metadata = OffsetMetadataTests.set(span: 3_000, hangingOneIn: 5)
        let text = metadata.encoded().text
        for length in 0..<text.count {
            #expect(throws: OffsetMetadata.Rejection.self) {
                try OffsetMetadata(decoding: String(text.prefix(length)), committedAt: metadata.base)
            }
        }
    }

    @Test(
        "A forged body decodes to an ordered set that encodes again, or is rejected",
        arguments: 1...4 as ClosedRange<UInt64>)
    func forgedBodies(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let metadata = OffsetMetadataTests.set(base: 77, span: 400, hangingOneIn: Int(seed) * 3, seed: seed)
        let original = try body(of: metadata)
        var accepted = 0
        for _ in 0..<5_000 {
            let body = mutated(random.once(in: 8) ? (0..<40).map { _ in random.byte() } : original, &random)
            guard let read = try? OffsetMetadata(decoding: forged(body), committedAt: 77) else { continue }
            accepted += 1
            var end: Int64 = 77
            for range in read.completed {
                try #require(range.lowerBound > end && !range.isEmpty)
                end = range.upperBound
            }
            let again = read.encoded()
            try #require(try OffsetMetadata(decoding: again.text, committedAt: 77) == read)
            // Whatever it claims, the ledger stays within its limit.
            try #require(OffsetLedger(startingAt: 77, completed: read.completed, spanLimit: 1 << 12).span <= 1 << 12)
        }
        #expect(accepted > 500)
    }

    @Test(
        "Impossible lengths and unknown forms are rejected as corrupt",
        arguments: [
            // Form 2: orders, count of pairs, bits. A count far beyond the bits; a run of 2^63 and more; zeros only.
            [0, 2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff], [0, 2, 40, 40, 1, 0, 0, 0, 0xff, 0xff, 0xff],
            [0, 2, 0, 0, 1] + [UInt8](repeating: 0, count: 500), [0, 2, 41, 0, 1, 0xff, 0xff],
            [0, 2, 0, 0, 0], [0, 2], [0, 2, 0], [0, 2, 0, 0], [0, 2, 0, 0, 1, 0xc1],
            // Form 1: no bits, or zeros at the end. Unknown forms.
            [0, 1], [0, 1, 0], [0, 1, 1, 0], [0, 0], [0, 3, 1], [0, 255],
            // A base of 2^63, of 11 bytes, with a needless zero; none.
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], [UInt8](repeating: 0x80, count: 11),
            [0x80, 0],
            [],
        ] as [[UInt8]])
    func hostile(body: [UInt8]) {
        #expect(throws: OffsetMetadata.Rejection.corrupt) {
            try OffsetMetadata(decoding: forged(body), committedAt: 0)
        }
    }

    @Test(
        "Unknown optional parts of the next version are skipped",
        arguments: [
            ([0], []), ([0, 1, 2, 1, 1], [1..<2]), ([0, 2, 3, 9, 9, 9, 1, 2, 1, 1], [1..<2]),
            ([0, 1, 2, 1, 1, 2, 0], [1..<2]), ([0, 0x80, 1, 0], []),
        ] as [([UInt8], [Range<Int64>])])
    func parts(body: [UInt8], completed: [Range<Int64>]) throws {
        try expect(OffsetMetadata(decoding: forged(body, version: 2), committedAt: 0).completed, is: completed)
    }

    @Test(
        "Unknown mandatory parts and incomplete parts are rejected",
        arguments: [
            ([0, 3, 0], .part(3)), ([0, 1, 2, 1, 1, 5, 1, 0], .part(5)), ([0, 1], .corrupt), ([0, 1, 0], .corrupt),
            ([0, 1, 3, 1, 1], .corrupt), ([0, 2, 9], .corrupt), ([0, 1, 2, 1, 1, 1, 2, 1, 1], .corrupt),
            ([0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], .corrupt),
        ] as [([UInt8], OffsetMetadata.Rejection)])
    func mistakenParts(body: [UInt8], rejection: OffsetMetadata.Rejection) {
        #expect(throws: rejection) { try OffsetMetadata(decoding: forged(body, version: 2), committedAt: 0) }
    }

    @Test("Offsets at the end of the integers are rejected", arguments: [[1, 1], [2, 0, 0, 1, 0xc0]] as [[UInt8]])
    func lastOffsets(completed: [UInt8]) {
        var body = ByteWriter()
        body.write(varint: UInt64(Int64.max - 1))
        #expect(throws: OffsetMetadata.Rejection.corrupt) {
            try OffsetMetadata(decoding: forged(body.bytes + completed), committedAt: .max - 1)
        }
    }
}
