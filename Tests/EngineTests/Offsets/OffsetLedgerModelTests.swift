import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The offset ledger against a reference made of sets")
struct OffsetLedgerModelTests {
    /// A partition read by a worker that is occasionally killed and restarted from its last commit.
    struct Run {
        static let limit = 1 << 12
        var random: SeededGenerator
        let gapOdds: Int
        let inFlightLimit: Int
        var ledger = OffsetLedger(startingAt: 0, spanLimit: Run.limit)
        var reference = ReferenceLedger(startingAt: 0, completed: [], limit: Int64(Run.limit))
        var nextOffset: Int64 = 0
        /// Sorted: a set's order would differ between runs.
        var inFlight: [Int64] = []
        var fullCount = 0
        var skippedCount = 0

        mutating func step() throws {
            switch Int.random(in: 0..<1_000, using: &random) {
            case 0..<5: try takeBackwards()
            case 5..<10: try completeAnything()
            case 10: try restart()
            case 11..<510 where inFlight.count < inFlightLimit: try take()
            default: try completeOne()
            }
            try #require(ledger.position == reference.position)
            try #require(ledger.inFlight == reference.inFlight.count)
            try #require(ledger.span == Int(reference.known - reference.position))
            if random.once(in: 64) { try compareAll() }
        }

        mutating func take() throws {
            let gap = random.once(in: gapOdds) ? Int64.random(in: 1..<300, using: &random) : 0
            let isLeap = gap > 0 && random.once(in: 50)
            let offset = nextOffset + (isLeap ? 3_000 : gap)
            let bound = ledger.metadataSizeBound(taking: offset)
            let taking = ledger.take(offset)
            try requireEqual(taking, reference.take(offset))
            switch taking {
            case .taken:
                inFlight.append(offset)
                if random.once(in: 32) {
                    try #require(ledger.snapshot(limit: 1 << 22).metadata.utf8.count <= bound)
                }
            case .completed: skippedCount += 1
            case .full: fullCount += 1
            case .duplicate: Issue.record("offset \(offset) is above all others")
            }
            if taking != .full { nextOffset = offset + 1 }
        }

        mutating func takeBackwards() throws {
            let offset = Int64.random(in: max(0, nextOffset - 200)...nextOffset, using: &random) - 1
            guard offset >= 0 else { return }
            let taking = ledger.take(offset)
            try requireEqual(taking, reference.take(offset))
            try #require(taking == .duplicate)
        }

        mutating func completeAnything() throws {
            let offset = Int64.random(in: max(0, nextOffset - 100)..<nextOffset + 100, using: &random)
            try requireEqual(ledger.complete(offset), reference.complete(offset))
            inFlight.removeAll { $0 == offset }
        }

        /// Mostly recent ones: old ones hang.
        mutating func completeOne() throws {
            guard !inFlight.isEmpty else { return }
            let first = random.once(in: 200) ? 0 : inFlight.count / 4
            let offset = inFlight.remove(at: Int.random(in: first..<inFlight.count, using: &random))
            try requireEqual(ledger.complete(offset), true)
            try requireEqual(reference.complete(offset), true)
        }

        mutating func restart() throws {
            let snapshot = ledger.snapshot()
            try #require(snapshot.offset == reference.position)
            try #require(snapshot.leftOut == 0)
            let metadata = try OffsetMetadata(decoding: snapshot.metadata, committedAt: snapshot.offset)
            try #require(metadata.completed == reference.completedBeyond)
            ledger = OffsetLedger(
                startingAt: snapshot.offset, completed: metadata.completed, spanLimit: Self.limit)
            reference = ReferenceLedger(
                startingAt: snapshot.offset, completed: metadata.completed, limit: Int64(Self.limit))
            nextOffset = snapshot.offset
            inFlight = []
        }

        func compareAll() throws {
            try #require(ledger.completedBeyond == reference.completedBeyond)
            for offset in max(0, reference.position - 70)..<reference.known + 70 {
                try #require(ledger.isCompleted(offset) == reference.isCompleted(offset))
            }
            let holes = ledger.span - reference.completedBeyond.reduce(0) { $0 + $1.count }
            // The bound allows for one more hole.
            let bound = OffsetMetadata.sizeBound(span: ledger.span, holes: holes + 1)
            try #require(ledger.metadataSizeBound(taking: reference.known - 1) == bound)
            try #require(ledger.snapshot(limit: 100_000).metadata.utf8.count <= bound)
        }
    }

    @Test(
        "The ledger matches the reference under random takes, completions, gaps, rewinds and restarts",
        arguments: [(seed: 1, gaps: 1_000, inFlight: 8), (2, 20, 100), (3, 3, 1_000), (4, 200, 3_000)])
    func random(seed: UInt64, gaps: Int, inFlight: Int) throws {
        var run = Run(random: SeededGenerator(seed: seed), gapOdds: gaps, inFlightLimit: inFlight)
        for _ in 0..<25_000 { try run.step() }
        #expect(run.skippedCount > 0)
        #expect(run.nextOffset > 5_000)
        try run.compareAll()
    }

    @Test("A ledger of a log full of holes reaches its limit and gets past it")
    func limit() throws {
        var run = Run(random: SeededGenerator(seed: 5), gapOdds: 2, inFlightLimit: 500)
        for _ in 0..<25_000 { try run.step() }
        #expect(run.fullCount > 0)
        #expect(run.nextOffset > 2 * Int64(Run.limit))
    }
}
