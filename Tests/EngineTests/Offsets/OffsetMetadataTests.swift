import PushmillTestSupport
import Testing
import PushmillEngine

@Suite("The metadata of a commit")
struct OffsetMetadataTests {
    /// All offsets of a span are completed but for some, as a worker with hanging messages leaves them.
    static func set(base: Int64 = 1_000_000, span: Int64, hangingOneIn odds: Int, seed: UInt64 = 7) -> OffsetMetadata {
        var random = SeededGenerator(seed: seed)
        let holes = (base + 1..<base + span).filter { _ in random.once(in: odds) }
        var (completed, start) = ([Range<Int64>](), base + 1)
        for hole in holes + [base + span] {
            if start < hole { completed.append(start..<hole) }
            start = hole + 1
        }
        return OffsetMetadata(base: base, completed: completed)
    }

    private func isBase64URL(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            let character = Character(UnicodeScalar(byte))
            return byte < 0x80 && (character.isLetter || character.isNumber || character == "-" || character == "_")
        }
    }

    @Test(
        "An empty set is encoded as a text with version and base",
        arguments: [0, 1, 1_234_567, 1 << 62] as [Int64])
    func empty(base: Int64) throws {
        let (text, leftOut) = OffsetMetadata(base: base, completed: []).encoded()
        #expect(text.hasPrefix("PMv1"))
        #expect(isBase64URL(text) && text.utf8.count < 32 && leftOut == 0)
        try expect(OffsetMetadata(decoding: text, committedAt: base).completed, is: [])
    }

    @Test(
        "Every set that fits survives a round trip in both versions",
        arguments: [
            [1..<2], [2..<3], [1..<1 << 62], [1 << 61..<1 << 62], [5..<Int64.max], [Int64.max - 1..<Int64.max],
            [1..<9], [1..<10, 11..<12], [8..<9, 16..<17, 24..<25], [1..<2, 1 << 40..<1 << 41, (1 << 41) + 1..<1 << 42],
        ] as [[Range<Int64>]])
    func roundTrip(completed: [Range<Int64>]) throws {
        let metadata = OffsetMetadata(base: 0, completed: completed)
        for version in [FormatVersion.current, .next] {
            let (text, leftOut) = metadata.encoded(version: version)
            #expect(leftOut == 0 && isBase64URL(text) && text.hasPrefix("PMv\(version.rawValue)"))
            try expect(OffsetMetadata(decoding: text, committedAt: 0), is: metadata)
        }
    }

    @Test("A version after the next is rejected by its number", arguments: ["3", "9", "A"] as [Character])
    func newer(version: Character) throws {
        let text = OffsetMetadata(base: 5, completed: [7..<9]).encoded().text
        #expect(throws: OffsetMetadata.Rejection.version(version)) {
            try OffsetMetadata(decoding: "PMv\(version)\(text.dropFirst(4))", committedAt: 5)
        }
    }

    @Test("Random sets survive a round trip, or their lowest part does if they are cut")
    func randomSets() throws {
        var random = SeededGenerator(seed: 11)
        for round in 0..<100 {
            let metadata = Self.set(
                base: Int64.random(in: 0..<1 << 50, using: &random), span: Int64.random(in: 1..<30_000, using: &random),
                hangingOneIn: 1 + Int.random(in: 1..<300, using: &random), seed: UInt64(round))
            let limit = Int.random(in: 64...OffsetMetadata.limit, using: &random)
            let version = round.isMultiple(of: 2) ? FormatVersion.current : .next
            let (text, leftOut) = metadata.encoded(limit: limit, version: version)
            try #require(text.utf8.count <= limit)
            let kept = try OffsetMetadata(decoding: text, committedAt: metadata.base).completed
            let (all, part) = (metadata.completed.flatMap { $0 }, kept.flatMap { $0 })
            try #require(part == Array(all.prefix(part.count)))
            try #require(leftOut == all.count - part.count)
        }
    }

    @Test("One hanging message among 10,000 costs a few bytes")
    func oneHanging() {
        let (text, leftOut) = OffsetMetadata(base: 42, completed: [43..<10_042]).encoded()
        #expect(text.utf8.count <= 24 && leftOut == 0)
    }

    @Test(
        "Typical sets with up to 10,000 hanging messages fit without loss",
        arguments: [
            // Every other one of 20,000, at random; one in a hundred hanging 30 s at 5,000 a second; few over many.
            (span: 20_000, odds: 2, atMost: 3_400), (150_000, 100, 2_700), (1_000_000, 1_000, 2_900),
        ])
    func hanging(span: Int64, odds: Int, atMost: Int) {
        let (text, leftOut) = Self.set(span: span, hangingOneIn: odds).encoded()
        expect(leftOut, is: 0)
        #expect(text.utf8.count <= atMost)
    }

    @Test("A burst of hanging messages costs no more than one hanging message")
    func burst() {
        let (text, leftOut) = OffsetMetadata(base: 0, completed: [5_000..<500_000, 500_001..<500_010]).encoded()
        #expect(text.utf8.count <= 32 && leftOut == 0)
    }

    @Test("If 10,000 scattered hanging messages exceed the limit, at least the lowest third is kept")
    func cut() throws {
        let metadata = Self.set(span: 100_000, hangingOneIn: 10)
        let (text, leftOut) = metadata.encoded()
        let total = metadata.completed.reduce(0) { $0 + $1.count }
        #expect(text.utf8.count <= OffsetMetadata.limit && text.utf8.count > OffsetMetadata.limit - 8)
        #expect(leftOut > 0 && leftOut < total * 2 / 3)
        let kept = try OffsetMetadata(decoding: text, committedAt: metadata.base).completed
        #expect(metadata.completed.starts(with: kept))
    }

    @Test(
        "Foreign or incomplete text is rejected with its reason",
        arguments: [
            ("", .foreign), ("hello", .foreign), ("PM", .foreign), ("pmv1AAAA", .foreign), ("AAAAPMv1", .foreign),
            ("bMCwAAAAAA", .foreign), ("PMv3AAAA", .version("3")), ("PMv€", .version("€")), ("PMv", .corrupt),
            ("PMv1", .corrupt), ("PMv1AAAA", .corrupt), ("PMv1A", .corrupt), ("PMv1 AAA", .corrupt),
            ("PMv1AAAAAAA=", .corrupt), ("PMv1" + String(repeating: "A", count: 5_000), .corrupt),
            ("PMv1\u{0}\u{ff}é", .corrupt),
        ] as [(String, OffsetMetadata.Rejection)])
    func rejected(text: String, reason: OffsetMetadata.Rejection) {
        #expect(throws: reason) { try OffsetMetadata(decoding: text, committedAt: 0) }
    }

    @Test("A committed offset that was set by hand is detected by the base", arguments: [0, 41, 43, 999] as [Int64])
    func otherBase(committed: Int64) {
        let (text, _) = OffsetMetadata(base: 42, completed: [44..<50]).encoded()
        #expect(throws: OffsetMetadata.Rejection.otherBase(42)) {
            try OffsetMetadata(decoding: text, committedAt: committed)
        }
    }

    @Test("No set is larger than its size bound", arguments: [1, 10, 1_000, 60_000, 1 << 22] as [Int64])
    func sizeBound(span: Int64) {
        for odds in [1, 2, 3, 10, 100, 5_000] {
            var ledger = OffsetLedger(startingAt: 0)
            var random = SeededGenerator(seed: UInt64(odds))
            for offset in 0..<min(span, 60_000) {
                let isHanging = random.once(in: odds)
                guard isHanging, ledger.take(offset * max(1, span / 60_000)) == .taken else { continue }
            }
            let bound = ledger.metadataSizeBound(taking: span - 1)
            _ = ledger.take(span - 1)
            #expect(ledger.snapshot(limit: 1 << 22).metadata.utf8.count <= bound)
            #expect(bound <= Int(span) / 6 + 64)
        }
    }

    @Test("The costliest set comes close to its size bound", arguments: [6, 9])
    func tightBound(order: Int) {
        var ledger = OffsetLedger(startingAt: 0)
        var offset: Int64 = 0
        for hole in 0..<2_000 {
            expectEqual(ledger.take(offset), .taken)
            // Just below half are long: at half the mean would be of the next order.
            offset += 2 + (hole % 100 < 49 ? 3 : 1) << Int64(order)
        }
        expectEqual(ledger.take(offset), .taken)
        let size = ledger.snapshot(limit: 100_000).metadata.utf8.count
        let bound = ledger.metadataSizeBound(taking: offset)
        #expect(size <= bound)
        #expect(size >= bound * 9 / 10)
    }
}
