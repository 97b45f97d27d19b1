import PushmillKafka
import PushmillPayload
import PushmillStages
import Testing

@testable import PushmillEngine

@Suite("Transactions of a shard")
struct ShardTransactionTests {
    private typealias Shard = ScriptedShard
    private let place = ScriptedShard.place()

    private func transactional(_ change: (inout ShardSettings) -> Void = { _ in }) -> ScriptedShard {
        Shard {
            $0.isTransactional = true
            change(&$0)
        }
    }

    @Test("Outputs, then offsets, then the commit: and the next transaction begins at once")
    func commits() {
        let shard = transactional()
        shard.ports.events = [.assigned([place])]
        let calls = shard.callsOfTurn()
        #expect(calls.suffix(3) == [.transact(.initialize), .tell(.transactionsTakenOver), .transact(.begin)])
        shard.ports.events = [.committed([Shard.commit(0)])]
        shard.turn()
        shard.deliver(2)
        #expect(shard.published() == [0, 1])
        #expect(shard.turn() == shard.ports.now + .milliseconds(20))
        #expect(shard.callsOfTurn(after: .milliseconds(20)) == [.flush])
        #expect(!shard.wantsRecords)
        shard.acknowledge()
        let ending = shard.callsOfTurn()
        guard ending.count == 3, case .transact(.addOffsets(let positions)) = ending[0] else {
            Issue.record("\(ending)")
            return
        }
        #expect(positions.map(\.offset) == [2])
        #expect(ending[1...] == [.transact(.commit), .transact(.begin)])
        #expect(shard.figures.inFlight == 0)
        #expect(shard.wantsRecords)
    }

    @Test("What is not stored aborts the transaction, and everything is read again from the last commit")
    func aborts() {
        let shard = transactional()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.unavailable(reason: "away"))
        #expect(shard.callsOfTurn().told == [.outputsReturned(reason: "away"), .outputsReturned(reason: "away")])
        let calls = shard.callsOfTurn()
        #expect(calls.told.last == .transactionAborted(reason: "not all of its outputs are stored"))
        #expect(calls.contains(.transact(.abort)))
        #expect(calls.last == .transact(.begin))
        #expect(shard.callsOfTurn() == [.seek(Shard.position(0))])
        #expect(shard.figures.inFlight == 0)
        shard.ports.messages = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        #expect(shard.published() == [0, 1])
    }

    @Test("The reason of an abort is what brokers said to the step that failed")
    func reason() {
        let shard = transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.transaction = { if case .addOffsets = $0 { .abort(KafkaError("no")) } else { .done } }
        #expect(shard.callsOfTurn(after: .milliseconds(20)).told == [.transactionAborted(reason: "no (_FAIL)")])
        shard.ports.transaction = { _ in .done }
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
        shard.turn()
        shard.fail(.purged)
        shard.turn()
        #expect(shard.callsOfTurn().told == [.transactionAborted(reason: "not all of its outputs are stored")])
    }

    @Test(
        "Of a batch that is refused each is sent alone in its turn, and the poison record becomes a dead letter, and no other",
        arguments: [true, false])
    func poison(isSame: Bool) {
        let shard = transactional()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        for _ in 0..<3 { shard.turn() }
        let again = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        shard.ports.messages = again
        shard.turn()
        // The first of them goes alone.
        #expect(shard.published() == [0])
        shard.fail(.refused(reason: "bad"))
        #expect(shard.callsOfTurn().told.first == .outputRefused(place, offset: 0, reason: "bad"))
        shard.turn(after: .milliseconds(40))
        shard.turn(after: .milliseconds(40))
        shard.ports.messages = isSame ? again : [ScriptedPorts.Message(offset: 0, timestamp: 2_000)]
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.refuseCurrent(reason: "bad")) == isSame)
        #expect(calls.contains(.publish(ScriptedPorts.Output(partition: 0, offset: 0, isLetter: isSame))))
    }

    @Test("A partition that is lost with something in the open transaction fails it")
    func lost() {
        let shard = transactional()
        shard.begin(0..<2)
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.events = [.lost([place])]
        shard.turn()
        #expect(shard.callsOfTurn().contains(.transact(.abort)))
        shard.turn()
        shard.deliver(of: 1)
        shard.turn()
        shard.acknowledge()
        shard.ports.events = [.lost([Shard.place(5)])]
        shard.turn()
        #expect(!shard.callsOfTurn().contains(.transact(.abort)))
    }

    @Test("What would not fit into a commit is not taken while one hangs")
    func window() {
        let shard = transactional {
            $0.metadataLimit = 64
            $0.maxInFlight = 2000
        }
        shard.begin()
        shard.suspend([0], for: .seconds(9), others: .nowhere)
        shard.deliver(to: "anna")
        shard.deliver(300, to: "bert")
        shard.turn()
        shard.turn()
        let taken = shard.figures.partitions[0].next ?? 0
        #expect((100..<250).contains(taken))
        #expect(shard.ports.released.count == 300)
        #expect(shard.figures.partitions[0].isPaused)
    }

    @Test("Badges count with what is published, and go back with what is not")
    func counts() {
        let shard = transactional {
            $0.counts = true
            $0.maxInFlight = 1000
        }
        shard.ports.chain = { _, _ in .ended(ChainResult(.output, .add(1))) }
        shard.begin()
        shard.deliver(2)
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.begin(offset: 1, count: 1, isCounted: false)))
        shard.fail(.unavailable(reason: "away"))
        for _ in 0..<3 { shard.turn() }
        shard.ports.messages = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 0, isCounted: false)))
        shard.acknowledge()
        let closing = shard.callsOfTurn(after: .milliseconds(20))
        #expect(closing.contains(.publishChange(key: "anna", value: "2 1", timestamp: shard.ports.wallClock)))
        #expect(!closing.contains(.transact(.commit)))
        shard.acknowledgeChanges()
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
    }

    @Test("A step that fails for good replaces the producer, and everything is asked for again")
    func replaced() {
        let shard = transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.transaction = { if case .addOffsets = $0 { .failed(KafkaError("fenced")) } else { .done } }
        let calls = shard.callsOfTurn(after: .milliseconds(20))
        #expect(calls.told == [.producerReplaced(reason: "fenced (_FAIL)")])
        shard.ports.transaction = { _ in .done }
        let next = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(next.contains(.replaceProducer))
        #expect(next.contains(.transact(.initialize)))
        #expect(next.contains(.askCommitted([place])))
        shard.ports.events = [.committed([Shard.commit(0)])]
        #expect(shard.callsOfTurn().contains(.seek(Shard.position(0))))
    }

    @Test("An open transaction is aborted when its shard leaves")
    func leaves() {
        let shard = transactional()
        shard.begin()
        shard.ports.transaction = { $0 == .abort ? .retry(.unanswered) : .done }
        shard.ports.terminations = 2
        let calls = shard.callsOfTurn()
        #expect(calls.count { $0 == .transact(.abort) } == 5)
        #expect(calls.last == .leave)
        let other = transactional()
        other.begin()
        other.ports.terminations = 2
        #expect(other.callsOfTurn().count { $0 == .transact(.abort) } == 1)
    }
}
