import PushmillTestSupport
import Testing
import PushmillEngine

@Suite("The offset ledger of a partition")
struct OffsetLedgerTests {
    private func ledger(at position: Int64, taking offsets: some Sequence<Int64>) -> OffsetLedger {
        var ledger = OffsetLedger(startingAt: position)
        for offset in offsets { expectEqual(ledger.take(offset), .taken) }
        return ledger
    }

    @Test("The position is the lowest incomplete offset, or one past the last when all are done")
    func position() {
        var ledger = ledger(at: 100, taking: 100..<104)
        expect(ledger.position, is: 100)
        expectEqual(ledger.complete(102), true)
        expectEqual(ledger.complete(101), true)
        expect(ledger.position, is: 100)
        expect(ledger.completedBeyond, is: [101..<103])
        expectEqual(ledger.complete(100), true)
        expect(ledger.position, is: 103)
        expect(ledger.completedBeyond, is: [])
        expectEqual(ledger.complete(103), true)
        expect(ledger.position, is: 104)
        expect(ledger.inFlight, is: 0)
        expect(ledger.span, is: 0)
    }

    @Test("Offsets that the log does not hold count as done, wherever they are")
    func gaps() {
        var ledger = ledger(at: 10, taking: [12, 13, 17])
        expect(ledger.position, is: 12)
        expect(ledger.completedBeyond, is: [14..<17])
        expectEqual(ledger.complete(12), true)
        expectEqual(ledger.complete(13), true)
        expect(ledger.position, is: 17)
        expectEqual(ledger.complete(17), true)
        expectEqual(ledger.take(1_000_000_000_000), .taken)
        expect(ledger.position, is: 1_000_000_000_000)
    }

    @Test("Without a committed offset the first record sets the position, which must be committed")
    func noCommit() {
        var ledger = OffsetLedger(startingAt: -1001)
        #expect(!ledger.isDirty)
        expectEqual(ledger.take(5_000), .taken)
        expect(ledger.position, is: 5_000)
        #expect(ledger.isDirty)
    }

    @Test(
        "An offset that was never taken, or is done already, cannot be completed",
        arguments: [-1, 9, 11, 12, 15, Int64.max] as [Int64])
    func wrongCompletion(offset: Int64) {
        var ledger = ledger(at: 10, taking: [10, 12, 14])
        expectEqual(ledger.complete(12), true)
        let before = ledger.completedBeyond
        expectEqual(ledger.complete(offset), false)
        expect(ledger.completedBeyond, is: before)
        expect(ledger.position, is: 10)
        expect(ledger.inFlight, is: 2)
    }

    @Test("Offsets of a recreated topic below the position are duplicates and change nothing")
    func recreatedTopic() {
        var ledger = ledger(at: 1_000, taking: 1_000..<1_010)
        for offset: Int64 in 1_000..<1_005 { expectEqual(ledger.complete(offset), true) }
        for offset: Int64 in [0, 1_003, 1_007, -5] { expectEqual(ledger.take(offset), .duplicate) }
        expect(ledger.position, is: 1_005)
        expect(ledger.inFlight, is: 5)
        expectEqual(ledger.take(1_010), .taken)
    }

    @Test("A hanging message holds the position while the window grows to its limit")
    func limit() {
        var ledger = OffsetLedger(startingAt: 0, spanLimit: 1 << 16)
        expectEqual(ledger.take(0), .taken)
        for offset: Int64 in 1..<1 << 16 {
            expectEqual(ledger.take(offset), .taken)
            expectEqual(ledger.complete(offset), true)
        }
        expectEqual(ledger.take(1 << 16), .full)
        expectEqual(ledger.take(1 << 16), .full)
        expect(ledger.position, is: 0)
        expect(ledger.completedBeyond, is: [1..<1 << 16])
        expectEqual(ledger.complete(0), true)
        expect(ledger.position, is: 1 << 16)
        expectEqual(ledger.take(1 << 16), .taken)
        expectEqual(ledger.complete(1 << 16), true)
    }

    @Test(
        "Offsets that are too large to count are refused without a trap",
        arguments: [Int64.max, Int64.max - 1, 1 << 62 + 1] as [Int64])
    func enormous(offset: Int64) {
        var ledger = OffsetLedger(startingAt: .max)
        expectEqual(ledger.take(offset), .full)
        expectEqual(ledger.take(1 << 62), .taken)
        expectEqual(ledger.complete(1 << 62), true)
        expect(ledger.position, is: 1 << 62 + 1)
    }

    @Test("Offsets that the metadata marks as done are skipped and stay done")
    func seeded() throws {
        var ledger = OffsetLedger(startingAt: 50, completed: [52..<54, 60..<61])
        #expect(ledger.isCompleted(52) && ledger.isCompleted(60) && !ledger.isCompleted(51) && !ledger.isCompleted(61))
        #expect(!ledger.isDirty)
        expectEqual(ledger.take(50), .taken)
        expectEqual(ledger.take(51), .taken)
        expectEqual(ledger.take(52), .completed)
        expectEqual(ledger.complete(51), true)
        expect(ledger.completedBeyond, is: [51..<54, 60..<61])
        expectEqual(ledger.complete(50), true)
        expect(ledger.position, is: 54)
        // 53 was not read again: the log has dropped it.
        expectEqual(ledger.take(54), .taken)
        expectEqual(ledger.take(60), .completed)
        expectEqual(ledger.complete(54), true)
        expect(ledger.position, is: 61)
        expect(ledger.inFlight, is: 0)
    }

    @Test("If the log lost everything that the metadata knew, the ledger starts over far away")
    func seededAndGone() {
        var ledger = OffsetLedger(startingAt: 50, completed: [52..<54, 200..<300], spanLimit: 1 << 12)
        expectEqual(ledger.take(1 << 40), .taken)
        expect(ledger.position, is: 1 << 40)
        expect(ledger.completedBeyond, is: [])
        #expect(ledger.metadataSizeBound(taking: 1 << 40) < 64)
    }

    @Test("If the completed set is wider than the limit, only its near part is kept")
    func wideSeed() {
        let ledger = OffsetLedger(startingAt: 0, completed: [5..<10, 1 << 20..<1 << 60], spanLimit: 1 << 12)
        expect(ledger.completedBeyond, is: [5..<10])
        expect(ledger.span, is: 10)
        let cut = OffsetLedger(startingAt: 0, completed: [5..<1 << 60], spanLimit: 1 << 12)
        expect(cut.completedBeyond, is: [5..<1 << 12])
    }

    @Test("Only a committed snapshot makes the ledger clean, and only for what it contains")
    func dirty() {
        var ledger = ledger(at: 0, taking: 0..<4)
        #expect(!ledger.isDirty)
        expectEqual(ledger.complete(2), true)
        let first = ledger.snapshot()
        #expect(ledger.isDirty)
        expectEqual(ledger.complete(0), true)
        let second = ledger.snapshot()
        ledger.committed(first)
        #expect(ledger.isDirty)
        ledger.committed(second)
        #expect(!ledger.isDirty)
        ledger.committed(first)
        #expect(!ledger.isDirty)
        expectEqual(ledger.take(4), .taken)
        #expect(!ledger.isDirty)
    }

    @Test("A snapshot contains the position, and in its metadata what is done beyond it")
    func snapshot() throws {
        var ledger = ledger(at: 7, taking: 7..<20)
        for offset: Int64 in [9, 10, 15] { expectEqual(ledger.complete(offset), true) }
        let snapshot = ledger.snapshot()
        expect(snapshot.offset, is: 7)
        expect(snapshot.leftOut, is: 0)
        let metadata = try OffsetMetadata(decoding: snapshot.metadata, committedAt: 7)
        expect(metadata.completed, is: [9..<11, 15..<16])
    }
}
