import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Checkpoints at least once")
struct CommittedCheckpointTests {
    private let start = Instant.past + .seconds(100)
    private var checkpoint = Checkpoint(isTransactional: false, interval: .milliseconds(20))

    @Test("While nothing is dirty there is none, and one that is wanted has ended")
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

    @Test("The next one begins an interval after this one did")
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

    @Test("One that is wanted begins at once, but not within another")
    mutating func wanted() {
        let number = beginCommit(start)
        let wanted = checkpoint.want()
        expect(wanted, is: number &+ 1)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        _ = checkpoint.committed(number, .accepted, now: start)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .commit)
        expect(checkpoint.number, is: wanted)
    }

    @Test("However many there were since one was wanted, the next one waits for its time")
    mutating func unwanted() {
        checkpoint = Checkpoint(isTransactional: false, interval: .milliseconds(20), number: 1 << 31)
        let number = beginCommit(start)
        _ = checkpoint.committed(number, .accepted, now: start)
        expect(checkpoint.wakeUp(isDirty: true), is: start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .none)
        expect(checkpoint.number, is: number)
    }

    @Test("A commit without an answer is given up, and its late answer says nothing")
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
        "A commit that is refused, or to be tried again, has not ended",
        arguments: [CommitAnswer.retry(.unanswered), .refused(.unanswered), .denied(.unanswered)])
    mutating func notAccepted(outcome: CommitAnswer) {
        let number = beginCommit(start)
        _ = checkpoint.committed(number, outcome, now: start)
        #expect(checkpoint.ended != number)
        expect(checkpoint.advance(now: start + .milliseconds(10), isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.advance(now: start + .milliseconds(200), isDirty: true, unanswered: 0), is: .commit)
    }
}

@Suite("Commits that fail")
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

    @Test("One that was wanted and given up is made again at once, however long the interval is")
    mutating func atOnce() {
        expect(advance(0), is: .commit)
        end(.accepted, 0)
        _ = checkpoint.want()
        expect(advance(10), is: .commit)
        expect(advance(1_509), is: .none)
        expect(advance(1_510), is: .giveUpCommit)
        expect(advance(1_510), is: .commit)
    }

    @Test("A group that takes long for each answer is given longer, until it answers soon")
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

    @Test("The group is late a second after the first commit that it has not taken, until it takes one")
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

    /// From open to its marks.
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

    @Test("Outputs and changes, then offsets, then the commit, then the next transaction")
    mutating func order() {
        open(start)
        let now = start + .milliseconds(20)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .flush)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .none)
        // However long that takes.
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

    @Test("What fails while it is open is aborted, and every partition goes back")
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

    @Test("What fails while it is closed is aborted")
    mutating func failsClosing() {
        open(start)
        let now = start + .milliseconds(20)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .flush)
        checkpoint.failTransaction()
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .none)
        expect(checkpoint.advance(now: now, isDirty: true, unanswered: 1), is: .abort)
    }

    @Test("Transactions that fail one after the other are begun ever later, to a bound")
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
        // One that was committed ends that.
        checkpoint.failTransaction()
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .none)
        expect(checkpoint.wakeUp(isDirty: true), is: start)
    }

    @Test("What is done again and again for a group that does not take its offsets is done ever later, to a bound")
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
        "Offsets that may or may not be part of it are not added twice",
        arguments: [TransactionResult.retry(.unanswered), .abort(KafkaError("")), .notAMember(KafkaError(""))])
    mutating func offsetsInDoubt(outcome: TransactionResult) {
        open(start)
        close(start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .addOffsets)
        expect(checkpoint.stepped(.addOffsets([]), outcome, now: start), is: .dropMarks)
        expect(checkpoint.advance(now: start + .seconds(1), isDirty: true, unanswered: 0), is: .abort)
    }

    @Test("A commit of which nobody knows is asked for until it is known")
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

    @Test("A producer that has failed is replaced, and the name taken over anew")
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

    @Test("A step that fails for good replaces the producer; its marks come to nothing")
    mutating func failsForGood() {
        open(start)
        close(start + .milliseconds(20))
        expect(checkpoint.advance(now: start, isDirty: false, unanswered: 0), is: .addOffsets)
        expect(checkpoint.stepped(.addOffsets([]), .failed(KafkaError("")), now: start), is: .dropMarks)
        expect(checkpoint.advance(now: start, isDirty: true, unanswered: 0), is: .replaceProducer)
    }
}
