import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Outputs of a shard")
struct ShardOutputTests {
    private typealias Shard = ScriptedShard

    @Test("An output that the producer does not take is tried again, and others follow in order")
    func later() {
        let shard = Shard()
        shard.begin()
        shard.deliver(2)
        shard.ports.publishing = { _ in .later }
        let start = shard.ports.now
        expect(shard.published(), is: [0])
        // Tried again in the next turn, then every 5 ms.
        expect(shard.published(after: .milliseconds(1)), is: [0])
        #expect(!shard.figures.canPublish)
        expect(shard.turn(), is: start + .milliseconds(6))
        shard.ports.publishing = { _ in .queued }
        expect(shard.published(after: .milliseconds(4)), is: [])
        let calls = shard.callsOfTurn(after: .milliseconds(1))
        expect(
            calls,
            is: [
                .publish(ScriptedPorts.Output(partition: 0, offset: 0)), .flush, .tell(.outputsGoOn),
                .begin(offset: 1, count: nil, isCounted: false),
                .publish(ScriptedPorts.Output(partition: 0, offset: 1)),
            ])
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [2])
    }

    @Test("An output that was not taken is tried again after a millisecond at the earliest")
    func laterAtOnce() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.ports.publishing = { _ in .later }
        expect(shard.turn(), is: shard.ports.now + .milliseconds(1))
    }

    @Test("The output of a suspended message waits behind outputs that are held")
    func resultBehindHeld() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0])
        shard.deliver(to: "anna")
        shard.deliver(to: "bert")
        shard.ports.publishing = { _ in .later }
        expect(shard.published(), is: [1])
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [1])
        shard.ports.publishing = { _ in .queued }
        expect(shard.published(after: .milliseconds(5)), is: [1, 0])
    }

    @Test("Outputs that are returned twice keep their order")
    func returnedTwice() {
        let shard = Shard()
        shard.begin()
        shard.deliver(3)
        expect(shard.published(), is: [0, 1, 2])
        for _ in 0..<2 {
            shard.fail(.unavailable(reason: "away"))
            shard.turn()
            expect(shard.published(after: .milliseconds(100)), is: [0, 1, 2])
        }
    }

    @Test("A returned output stops all others until everything is answered, then all go in order")
    func returned() {
        let shard = Shard()
        shard.begin()
        shard.deliver(3)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.deliver()
        shard.ports.reports = [
            OutputReport(tag: sent[1].tag, failure: .unavailable(reason: "away"), returned: sent[1].output)
        ]
        expect(shard.callsOfTurn(), is: [.tell(.outputsReturned(reason: "away")), .purge(all: false)])
        shard.ports.reports = [
            OutputReport(tag: sent[0].tag, failure: .purged, returned: sent[0].output),
            OutputReport(tag: sent[2].tag),
        ]
        expect(shard.callsOfTurn().contains(.publish(sent[0].output)), is: false)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(100))
        expect(shard.published(after: .milliseconds(100)), is: [0, 1, 3])
        shard.acceptCommit()
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [4])
    }

    @Test("The producer's queue is purged once, however many outputs are returned together")
    func purgedOnce() {
        let shard = Shard()
        shard.begin()
        shard.deliver(3)
        shard.turn()
        shard.fail(.unavailable(reason: "away"))
        expect(shard.callsOfTurn().filter { $0 == .purge(all: false) }.count, is: 1)
    }

    @Test("Only the poison record of a refused batch becomes a dead letter")
    func poison() throws {
        let shard = Shard()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        expect(shard.published(), is: [0])
        shard.acknowledge()
        expect(shard.published(), is: [1])
        shard.fail(.refused(reason: "bad"))
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.tell(.outputRefused(Shard.partition(), offset: 1, reason: "bad"))))
        #expect(calls.contains(.askLetter(Shard.position(1), reason: "bad", isNameOnly: false)))
        // The last one was sent alone: only with its answer do outputs go on.
        #expect(calls.contains(.tell(.outputsGoOn)))
        let letter = ScriptedPorts.Output(partition: 0, offset: 1, isLetter: true)
        shard.ports.letters = [(try #require(shard.ports.askedLetters.first), letter)]
        expect(shard.callsOfTurn(), is: [.publish(letter), .flush])
        // The letter is refused as well: the next one only names the message.
        shard.fail(.refused(reason: "worse"))
        #expect(shard.callsOfTurn().contains(.publish(letter)))
        shard.fail(.refused(reason: "worse"))
        #expect(shard.figures.areLettersHeld)
        #expect(shard.callsOfTurn().contains(.askLetter(Shard.position(1), reason: "worse", isNameOnly: true)))
    }

    @Test("A fault of the brokers is waited out; each minute that it lasts, one output becomes a dead letter")
    func brokerFault() {
        let shard = Shard()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        var letters: [Int] = []
        for second in 0..<150 {
            shard.fail(.refused(reason: "UNKNOWN"))
            var calls = shard.callsOfTurn()
            calls += shard.callsOfTurn(after: .seconds(1)) + shard.callsOfTurn()
            if calls.contains(where: { if case .askLetter = $0 { true } else { false } }) { letters.append(second) }
        }
        expect(letters.count, is: 2)
        #expect(letters.allSatisfy { $0 >= 60 } && letters.last ?? 0 >= (letters.first ?? 0) + 60, "\(letters)")
    }

    @Test("With transactions a fault of the brokers is waited out as well")
    func brokerFaultInTransaction() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.refused(reason: "UNKNOWN"))
        expect(shard.callsOfTurn().told.first, is: .outputsReturned(reason: "UNKNOWN"))
        #expect(shard.ports.askedLetters.isEmpty)
    }

    @Test("An output that the producer refuses becomes a dead letter at once")
    func tooLarge() {
        let shard = Shard()
        shard.begin()
        shard.deliver(2)
        shard.ports.publishing = { $0.offset == 0 && !$0.isLetter ? .refused(reason: "too large") : .queued }
        let letter = ScriptedPorts.Output(partition: 0, offset: 0, isLetter: true)
        expect(
            shard.callsOfTurn(),
            is: [
                .begin(offset: 0, count: nil, isCounted: false),
                .publish(ScriptedPorts.Output(partition: 0, offset: 0)), .refuseCurrent(reason: "too large"),
                .begin(offset: 1, count: nil, isCounted: false),
                .publish(ScriptedPorts.Output(partition: 0, offset: 1)),
            ])
        expect(shard.callsOfTurn(), is: [.publish(letter), .flush])
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [2])
    }

    @Test("A held output that the producer refuses in its turn becomes a dead letter")
    func heldAndTooLarge() {
        let shard = Shard()
        shard.begin()
        shard.ports.publishing = { _ in .later }
        shard.deliver()
        shard.turn()
        shard.ports.publishing = { _ in .refused(reason: "too large") }
        let calls = shard.callsOfTurn(after: .milliseconds(5))
        #expect(calls.contains(.tell(.outputRefused(Shard.partition(), offset: 0, reason: "too large"))))
        #expect(calls.contains(.askLetter(Shard.position(0), reason: "too large", isNameOnly: false)))
    }

    @Test("A refused output's badge was counted, and a refused dead letter's was not", arguments: [true, false])
    func counted(isOutput: Bool) {
        let shard = Shard()
        shard.begin()
        shard.ports.chain = { _, _ in .ended(isOutput ? .output : .deadLetters) }
        shard.deliver()
        for _ in 0..<2 {
            shard.turn()
            shard.fail(.refused(reason: "bad"))
        }
        let isNameOnly = !isOutput
        #expect(
            shard.callsOfTurn().contains(
                .askLetter(Shard.position(0), reason: "bad", isNameOnly: isNameOnly, isCounted: isOutput)))
        let other = Shard()
        other.begin()
        other.ports.chain = shard.ports.chain
        other.ports.publishing = { _ in .refused(reason: "bad") }
        other.deliver()
        #expect(other.callsOfTurn().contains(.refuseCurrent(reason: "bad", isCounted: isOutput)))
    }

    @Test("A refused dead letter that only names its message waits ten seconds")
    func nameOnly() throws {
        let shard = Shard()
        shard.begin()
        shard.ports.chain = { _, _ in .ended(.deadLetters) }
        shard.deliver()
        shard.turn()
        for _ in 0..<2 {
            shard.fail(.refused(reason: "bad"))
            shard.turn()
        }
        let tag = try #require(shard.ports.askedLetters.last)
        let letter = ScriptedPorts.Output(partition: 0, offset: 0, isLetter: true)
        shard.ports.letters = [(tag, letter)]
        shard.ports.publishing = { _ in .refused(reason: "bad") }
        expect(shard.callsOfTurn(), is: [.publish(letter)])
        expect(shard.turn(), is: shard.ports.now + .seconds(10))
        expect(shard.published(after: .seconds(9)), is: [])
        shard.ports.publishing = { _ in .queued }
        expect(shard.published(after: .seconds(1)), is: [0])
        // Brokers that refuse it are not asked again sooner.
        for _ in 0..<2 {
            shard.fail(.refused(reason: "bad"))
            shard.turn()
        }
        shard.ports.letters = [(try #require(shard.ports.askedLetters.last), letter)]
        expect(shard.published(after: .seconds(9)), is: [])
        expect(shard.published(after: .seconds(1)), is: [0])
    }

    @Test("Dead letters and outputs do not wait for each other")
    func apart() {
        let shard = Shard()
        shard.begin()
        shard.ports.chain = { message, _ in .ended(message.offset == 0 ? .deadLetters : .output) }
        shard.ports.publishing = { $0.isLetter ? .later : .queued }
        shard.deliver(3)
        expect(shard.published(), is: [0, 1, 2])
        #expect(shard.figures.canPublish)
        expect(shard.published(), is: [0])
    }

    @Test("A failed producer is replaced once all is answered, and the next one sends its outputs")
    func replaced() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.hasProducerFailed = true
        expect(
            shard.callsOfTurn(),
            is: [
                .purge(all: false), .tell(.producerReplaced(reason: "the producer has failed")), .purge(all: false),
            ])
        #expect(!shard.figures.canPublish)
        #expect(!shard.wantsRecords)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(20))
        expect(shard.callsOfTurn(after: .milliseconds(19)), is: [])
        shard.fail(.purged)
        shard.ports.replaces = false
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.purge(all: false), .replaceProducer])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(500))
        expect(shard.callsOfTurn(after: .milliseconds(499)), is: [])
        shard.ports.replaces = true
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.replaceProducer])
        expect(shard.published(), is: [0])
        #expect(shard.figures.canPublish)
    }

    @Test("Outputs that a failed producer returned are sent by the next one at once")
    func replacedAtOnce() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.hasProducerFailed = true
        shard.fail(.purged)
        expect(shard.turn(), is: shard.ports.now)
        expect(shard.published(), is: [0])
    }

    @Test("A producer is not replaced while a change of a count is unanswered")
    func replacedAfterChanges() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.ports.hasProducerFailed = true
        #expect(!shard.callsOfTurn().contains(.replaceProducer))
        shard.acknowledgeChanges()
        #expect(shard.callsOfTurn(after: .milliseconds(20)).contains(.replaceProducer))
    }

    @Test("A report of an unknown output, or a second one, is ignored")
    func strangeAnswers() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.reports = [OutputReport(tag: 9 << 32 | 1), OutputReport(tag: sent[0].tag)]
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.ports.reports = [OutputReport(tag: sent[0].tag)]
        shard.turn()
        expect(shard.figures.inFlight, is: 0)
    }
}
