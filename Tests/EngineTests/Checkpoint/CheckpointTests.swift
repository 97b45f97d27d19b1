import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("At-least-once checkpoints")
struct CommittedCheckpointTests {
    private let start = Instant.past + .seconds(100)
    private var checkpoint = Checkpoint(isTransactional: false, interval: .milliseconds(20))

    @Test("With nothing to commit no checkpoint begins, and a wanted one counts as ended")
    mutating func clean() {
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .none)
        expect(checkpoint.wakeUp(isDirty: false), is: .never)
        let number = checkpoint.want()
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .none)
        expect(checkpoint.ended, is: number)
    }

    private mutating func beginCommit(_ now: Instant) -> UInt32 {
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 3), is: .commit)
        #expect(checkpoint.isUnderWay)
        return checkpoint.number
    }

    @Test("A checkpoint begins one interval after the previous one began")
    mutating func interval() {
        let number = beginCommit(start)
        let now = start + .milliseconds(5)
        let isAwaited = checkpoint.committed(number, .accepted, now: now)
        #expect(isAwaited)
        expect(checkpoint.ended, is: number)
        expect(checkpoint.wakeUp(isDirty: true), is: start + .milliseconds(20))
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start + .milliseconds(20), isDirty: true, unanswered: 0), is: .commit)
    }

    @Test("A wanted checkpoint begins at once, or once the current one has ended")
    mutating func wanted() {
        let number = beginCommit(start)
        let wanted = checkpoint.want()
        expect(wanted, is: number &+ 1)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        _ = checkpoint.committed(number, .accepted, now: start)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .commit)
        expect(checkpoint.number, is: wanted)
    }

    @Test("After 2^31 checkpoints without a wanted one, the next still waits for its interval")
    mutating func unwanted() {
        checkpoint = Checkpoint(isTransactional: false, interval: .milliseconds(20), number: 1 << 31)
        let number = beginCommit(start)
        _ = checkpoint.committed(number, .accepted, now: start)
        expect(checkpoint.wakeUp(isDirty: true), is: start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .none)
        expect(checkpoint.number, is: number)
    }

    @Test("An unanswered commit is abandoned, and its late answer is ignored")
    mutating func noAnswer() {
        let number = beginCommit(start)
        let until = checkpoint.wakeUp(isDirty: false)
        #expect(until > start)
        expect(checkpoint.advance(now: until, isDirty: false, unanswered: 0), is: .giveUpCommit)
        let isAwaited = checkpoint.committed(number, .accepted, now: until)
        #expect(!isAwaited)
        #expect(checkpoint.ended != number)
    }

    @Test(
        "A refused commit, or one to be retried, does not end its checkpoint",
        arguments: [CommitAnswer.retry(.unanswered), .refused(.unanswered), .denied(.unanswered)])
    mutating func notAccepted(outcome: CommitAnswer) {
        let number = beginCommit(start)
        _ = checkpoint.committed(number, outcome, now: start)
        #expect(checkpoint.ended != number)
        expect(checkpoint.advance(now: start + .milliseconds(10), isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start + .milliseconds(200), isDirty: true, unanswered: 0), is: .commit)
    }
}

@Suite("Failing commits")
struct FailingCheckpointTests {
    private let start = Instant.past + .seconds(100)
    private var checkpoint = Checkpoint(isTransactional: false, interval: .seconds(5))

    private mutating func advance(_ milliseconds: Int) -> Checkpoint.Action {
        checkpoint.advance(now: start + .milliseconds(milliseconds), isDirty: true, unanswered: 0)
    }

    private mutating func end(_ outcome: CommitAnswer, _ milliseconds: Int) {
        _ = checkpoint.committed(checkpoint.number, outcome, now: start + .milliseconds(milliseconds))
    }

    private func isLate(_ milliseconds: Int) -> Bool { checkpoint.isLate(start + .milliseconds(milliseconds)) }

    @Test("A wanted commit that was abandoned is retried at once, however long the interval is")
    mutating func atOnce() {
        expect(advance(0), is: .commit)
        end(.accepted, 0)
        _ = checkpoint.want()
        expect(advance(10), is: .commit)
        expect(advance(1_509), is: .none)
        expect(advance(1_510), is: .giveUpCommit)
        expect(advance(1_510), is: .commit)
    }

    @Test("Commits to a slow group get longer timeouts until it answers quickly")
    mutating func slow() {
        expect(advance(0), is: .commit)
        expect(advance(1_500), is: .giveUpCommit)
        expect(advance(1_500), is: .commit)
        expect(advance(4_499), is: .none)
        end(.accepted, 4_499)
        expect(checkpoint.ended, is: checkpoint.number)
        for begin in [6_500, 14_500] {
            expect(advance(begin), is: .commit)
            expect(advance(begin + 2_999), is: .none)
            end(.accepted, begin + 2_999)
        }
        expect(advance(19_500), is: .commit)
        end(.accepted, 19_600)
        expect(advance(24_500), is: .commit)
        expect(advance(26_000), is: .giveUpCommit)
        for (begin, end) in [(26_000, 29_000), (29_000, 35_000), (35_000, 41_000)] {
            expect(advance(begin), is: .commit)
            expect(advance(end - 1), is: .none)
            expect(advance(end), is: .giveUpCommit)
        }
    }

    @Test("The group is late one second after its first unaccepted commit, until it accepts one")
    mutating func late() {
        #expect(!isLate(9_000))
        expect(advance(0), is: .commit)
        #expect(!isLate(1_000) && isLate(1_001))
        expect(advance(1_500), is: .giveUpCommit)
        expect(advance(1_500), is: .commit)
        #expect(isLate(1_501))
        end(.accepted, 1_600)
        #expect(!isLate(9_000))
        expect(advance(7_000), is: .commit)
        end(.retry(.unanswered), 7_100)
        #expect(!isLate(8_000) && isLate(8_001))
        expect(advance(7_900), is: .commit)
        #expect(isLate(8_001))
        end(.partly(refused: []), 8_002)
        #expect(!isLate(20_000))
    }
}

@Suite("Checkpoints with transactions")
struct TransactionalCheckpointTests {
    private let start = Instant.past + .seconds(100)
    private var checkpoint = Checkpoint(isTransactional: true, interval: .milliseconds(20))

    private mutating func open(_ now: Instant) {
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .initialize)
        expect(checkpoint.stepped(.initialize, .done, now: now), is: .none)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .begin)
        expect(checkpoint.stepped(.begin, .done, now: now), is: .none)
    }

    /// Takes an open transaction up to its marks.
    private mutating func close(_ now: Instant) {
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .flush)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 0), is: .mark)
    }

    @Test("Outputs are taken only while a transaction is open")
    mutating func takesOutputs() {
        #expect(!checkpoint.takesOutputs)
        #expect(!checkpoint.isInitialized)
        open(start)
        #expect(checkpoint.takesOutputs)
        #expect(checkpoint.isInitialized)
        expect(checkpoint.advance(now: start + .milliseconds(20), isDirty: true, unanswered: 1), is: .flush)
        #expect(!checkpoint.takesOutputs)
        #expect(checkpoint.takesChanges)
        expect(checkpoint.advance(now: start + .milliseconds(20), isDirty: true, unanswered: 0), is: .mark)
        #expect(!checkpoint.takesChanges)
    }

    @Test("A transaction flushes its outputs, adds offsets, and commits before the next one begins")
    mutating func order() {
        open(start)
        let now = start + .milliseconds(20)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .flush)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .none)
        // However long the flush takes.
        expect(checkpoint.advance(now: now + .seconds(9), isDirty: true, unanswered: 1), is: .none)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 0), is: .mark)
        expect(checkpoint.number, is: 1)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .addOffsets)
        expect(checkpoint.stepped(.addOffsets([]), .done, now: now), is: .none)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .endTransaction)
        expect(checkpoint.stepped(.commit, .done, now: now), is: .none)
        expect(checkpoint.ended, is: checkpoint.number)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .begin)
    }

    @Test("A transaction that fails while open is aborted, and every partition rewinds")
    mutating func failsOpen() {
        open(start)
        checkpoint.failTransaction()
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .abort)
        expect(checkpoint.stepped(.abort, .done, now: start), is: .rewind)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .begin)
        _ = checkpoint.stepped(.begin, .done, now: start)
        #expect(checkpoint.takesOutputs)
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .none)
    }

    @Test("A transaction that fails while closing is aborted")
    mutating func failsClosing() {
        open(start)
        let now = start + .milliseconds(20)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .flush)
        checkpoint.failTransaction()
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .none)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .abort)
    }

    @Test("Transactions that fail one after the other back off, up to a bound")
    mutating func backsOff() {
        open(start)
        var delays: [UInt64] = []
        for _ in 0..<9 {
            checkpoint.failTransaction()
            expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
            let from = checkpoint.wakeUp(isDirty: true)
            delays.append(from.nanoseconds(since: start) / 1_000_000)
            expect(checkpoint.advance(now: from, isDirty: true, unanswered: 0), is: .abort)
            _ = checkpoint.stepped(.abort, .done, now: start)
            _ = checkpoint.stepped(.begin, .done, now: start)
        }
        expect(delays, is: [0, 40, 80, 160, 320, 640, 640, 640, 640])
        close(start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .addOffsets)
        _ = checkpoint.stepped(.addOffsets([]), .done, now: start)
        _ = checkpoint.stepped(.commit, .done, now: start)
        _ = checkpoint.stepped(.begin, .done, now: start)
        // A committed transaction resets the backoff.
        checkpoint.failTransaction()
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.wakeUp(isDirty: true), is: start)
    }

    @Test("Transactions whose offsets the group keeps refusing back off, up to a bound")
    mutating func refusedOffsets() {
        open(start)
        var delays: [UInt64] = []
        for _ in 0..<8 {
            let now = start + .milliseconds(20)
            close(now)
            expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .addOffsets)
            expect(checkpoint.stepped(.addOffsets([]), .notAMember(KafkaError("")), now: now), is: .dropMarks)
            let from = checkpoint.wakeUp(isDirty: true)
            delays.append(from.nanoseconds(since: now) / 1_000_000)
            expect(checkpoint.advance(now: from, isDirty: true, unanswered: 0), is: .abort)
            expect(checkpoint.stepped(.abort, .done, now: start), is: .rewind)
            _ = checkpoint.stepped(.begin, .done, now: start)
        }
        expect(delays, is: [200, 240, 280, 360, 520, 840, 840, 840])
    }

    @Test(
        "If adding offsets fails, the transaction is aborted, and they are not added twice",
        arguments: [TransactionResult.retry(.unanswered), .abort(KafkaError("")), .notAMember(KafkaError(""))])
    mutating func offsetsInDoubt(outcome: TransactionResult) {
        open(start)
        close(start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .addOffsets)
        expect(checkpoint.stepped(.addOffsets([]), outcome, now: start), is: .dropMarks)
        expect(checkpoint.advance(now: start + .seconds(1), isDirty: true, unanswered: 0), is: .abort)
    }

    @Test("A commit with an unknown outcome is repeated")
    mutating func commitInDoubt() {
        open(start)
        close(start + .milliseconds(20))
        _ = checkpoint.advance(now: start, isDirty: false, unanswered: 0)
        _ = checkpoint.stepped(.addOffsets([]), .done, now: start)
        let now = start + .milliseconds(30)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .endTransaction)
        expect(checkpoint.stepped(.commit, .retry(.unanswered), now: now), is: .none)
        expect(checkpoint.advance(now: now, isDirty: false, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: now + .milliseconds(50), isDirty: false, unanswered: 0), is: .endTransaction)
        #expect(checkpoint.ended != checkpoint.number)
    }

    @Test("A failed producer is replaced, and the new one takes over the transactional ID")
    mutating func replaced() {
        open(start)
        expect(checkpoint.producerFailed(now: start), is: .none)
        #expect(!checkpoint.takesOutputs)
        expect(checkpoint.producerFailed(now: start), is: .none)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 5), is: .replaceProducer)
        checkpoint.replaced(false, now: start)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start + .milliseconds(500), isDirty: true, unanswered: 0), is: .replaceProducer)
        checkpoint.replaced(true, now: start)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .initialize)
    }

    @Test("A step that fails for good drops its marks and replaces the producer")
    mutating func failsForGood() {
        open(start)
        close(start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .addOffsets)
        expect(checkpoint.stepped(.addOffsets([]), .failed(KafkaError("")), now: start), is: .dropMarks)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .replaceProducer)
    }
}
