import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Transactions of a shard")
struct ShardTransactionTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("A transaction stores outputs, adds offsets and commits; the next begins at once")
    func commits() {
        let shard = Shard.transactional()
        shard.ports.events = [.assigned([partition])]
        let calls = shard.callsOfTurn()
        expect(calls.suffix(3), is: [.transact(.initialize), .tell(.transactionsTakenOver), .transact(.begin)])
        shard.ports.events = [.committed([Shard.commit(0)])]
        shard.turn()
        shard.deliver(2)
        expect(shard.published(), is: [0, 1])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(20))
        expect(shard.callsOfTurn(after: .milliseconds(20)), is: [.flush])
        #expect(!shard.wantsRecords)
        shard.acknowledge()
        let ending = shard.callsOfTurn()
        guard ending.count == 3, case .transact(.addOffsets(let positions)) = ending[0] else {
            Issue.record("\(ending)")
            return
        }
        expect(positions.map(\.offset), is: [2])
        expect(ending[1...], is: [.transact(.commit), .transact(.begin)])
        expect(shard.figures.inFlight, is: 0)
        #expect(shard.wantsRecords)
        // The next transaction contains what has come since.
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        let next = shard.callsOfTurn(after: .milliseconds(20))
        #expect(next.contains(.transact(.commit)))
        for case .transact(.addOffsets(let positions)) in next { expect(positions.map(\.offset), is: [3]) }
    }

    @Test("A stage's result during a commit is taken once the next transaction is open")
    func stageMeanwhile() {
        let shard = Shard.transactional()
        shard.begin()
        shard.suspend([0])
        shard.deliver(to: "anna")
        shard.deliver(to: "bert")
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [])
        shard.acknowledge()
        expect(shard.turn(), is: shard.ports.now)
        expect(shard.published(), is: [0])
    }

    @Test("A transaction's interval begins when brokers have opened it, however long that took")
    func slowBrokers() {
        let shard = Shard.transactional()
        shard.begin()
        shard.ports.transaction = { [unowned ports = shard.ports] step in
            if case .begin = step { ports.now = ports.now + .milliseconds(400) }
            return .done
        }
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn(after: .milliseconds(20))
        shard.deliver()
        expect(shard.turn(), is: shard.ports.now + .milliseconds(20))
    }

    @Test("A transaction is not committed before all outputs and dead letters are stored")
    func bothOutstanding() {
        let shard = Shard.transactional()
        shard.begin()
        shard.ports.chain = { message, _ in .ended(message.offset == 0 ? .deadLetters : .output) }
        shard.deliver(2)
        shard.turn()
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        expect(calls, is: [.flush])
        shard.acknowledge()
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
    }

    @Test("Messages in flight have a limit, and counts in flight four times that plus 10,000")
    func room() {
        let shard = Shard.transactional { $0.maxInFlight = 2 }
        shard.begin()
        shard.deliver(3)
        expect(shard.published(), is: [0, 1])
        shard.acknowledge()
        expect(shard.published(), is: [2])
        let counting = Shard.transactional {
            $0.counts = true
            $0.maxInFlight = 828
            $0.checkpointInterval = .seconds(3_600)
        }
        counting.ports.chain = { _, _ in .ended(.output, .add(1)) }
        counting.begin()
        var taken = 0
        for _ in 0..<70 {
            counting.deliver(256)
            taken += counting.published().count
            counting.acknowledge()
        }
        // Taken in batches: 52 of 256.
        expect(taken, is: 828 * 4 + 10_000)
    }

    @Test("A held output keeps later messages of its key back until it is published")
    func heldKey() {
        let shard = Shard.transactional()
        shard.begin()
        shard.ports.chain = { message, _ in .ended(message.offset == 0 ? .deadLetters : .output) }
        shard.ports.publishing = { $0.isLetter ? .later : .queued }
        shard.deliver(2)
        shard.deliver(to: "bert")
        expect(shard.published(), is: [0, 2])
        shard.ports.publishing = { _ in .queued }
        expect(shard.published(after: .milliseconds(5)), is: [0, 1])
    }

    @Test("An output that is returned after the drain aborts its transaction")
    func returnedAfterDrain() {
        let shard = Shard.transactional { $0.drain = .seconds(1) }
        shard.begin()
        shard.suspend([1], for: .seconds(10))
        shard.deliver(to: "anna")
        shard.deliver(to: "bert")
        shard.turn()
        shard.ports.events = [.revoked([partition])]
        shard.turn()
        expect(shard.callsOfTurn(after: .seconds(1)).told, is: [.drainTooLong(unfinished: 1)])
        shard.fail(.purged)
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        #expect(calls.contains(.transact(.abort)))
        #expect(!calls.contains(.transact(.commit)))
    }

    @Test("With nothing to commit, no transaction ends after the producer was replaced")
    func nothingToCommit() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.hasProducerFailed = true
        shard.turn()
        shard.ports.events = [.lost([partition])]
        for _ in 0..<2 { shard.turn() }
        expect(shard.callsOfTurn(after: .milliseconds(20)), is: [])
    }

    @Test("A partition that is given back with messages in a hanging transaction aborts it")
    func givenBack() {
        let shard = Shard.transactional()
        shard.begin(0..<2)
        shard.deliver()
        shard.turn()
        shard.ports.events = [.revoked([partition])]
        shard.turn()
        let calls = (0..<5).flatMap { _ in shard.callsOfTurn(after: .milliseconds(500)) }
        #expect(calls.contains(.giveBack([partition])))
        #expect(calls.contains(.transact(.abort)))
        #expect(!calls.contains(.transact(.commit)))
    }

    @Test("With nothing in flight a record is taken, however much is known to be done beyond it")
    func windowOfOne() {
        let shard = Shard.transactional { $0.metadataLimit = 64 }
        let done = stride(from: Int64(1), to: 400, by: 2).map { $0..<$0 + 1 }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        let metadata = OffsetMetadata(base: 0, completed: done).encoded().text
        shard.ports.events = [.committed([Position(partition, offset: 0, metadata: metadata)])]
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
        expect(shard.published(), is: [0])
    }

    @Test("An unstored output aborts the transaction, and all is read again from the last commit")
    func aborts() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.unavailable(reason: "away"))
        expect(shard.callsOfTurn().told, is: [.outputsReturned(reason: "away"), .outputsReturned(reason: "away")])
        let calls = shard.callsOfTurn()
        expect(calls.told.last, is: .transactionAborted(reason: "not all of its outputs were stored"))
        #expect(calls.contains(.transact(.abort)))
        expect(calls.last, is: .transact(.begin))
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        expect(shard.figures.inFlight, is: 0)
        // There is nothing to commit until then.
        expect(shard.callsOfTurn(after: .milliseconds(20)), is: [])
        shard.ports.messages = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        expect(shard.published(), is: [0, 1])
    }

    @Test("The reported reason of an abort is the brokers' answer to the failed step")
    func reason() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.transaction = { if case .addOffsets = $0 { .abort(KafkaError("no")) } else { .done } }
        expect(shard.callsOfTurn(after: .milliseconds(20)).told, is: [.transactionAborted(reason: "no (_FAIL)")])
        shard.ports.transaction = { _ in .done }
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
        shard.turn()
        shard.fail(.purged)
        shard.turn()
        let told = shard.callsOfTurn(after: .milliseconds(40)).told
        expect(told, is: [.transactionAborted(reason: "not all of its outputs were stored")])
    }

    @Test(
        "Outputs of a refused batch are sent alone, and only the poison record becomes a dead letter",
        arguments: [true, false])
    func poison(isSame: Bool) {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        for _ in 0..<3 { shard.turn() }
        let again = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        shard.ports.messages = again
        shard.turn()
        // The first of them goes alone.
        expect(shard.published(), is: [0])
        shard.fail(.refused(reason: "bad"))
        expect(shard.callsOfTurn().told.first, is: .outputRefused(partition, offset: 0, reason: "bad"))
        shard.turn(after: .milliseconds(40))
        shard.turn(after: .milliseconds(40))
        shard.ports.messages = isSame ? again : [ScriptedPorts.Message(offset: 0, timestamp: 2_000)]
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
        expect(calls.contains(.refuseCurrent(reason: "bad")), is: isSame)
        #expect(calls.contains(.publish(ScriptedPorts.Output(partition: 0, offset: 0, isLetter: isSame))))
    }

    @Test("A lost partition with messages in the open transaction aborts the transaction")
    func lost() {
        let shard = Shard.transactional()
        shard.begin(0..<2)
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.events = [.lost([partition])]
        shard.turn()
        #expect(shard.callsOfTurn().contains(.transact(.abort)))
        shard.turn()
        shard.deliver(of: 1)
        shard.turn()
        shard.acknowledge()
        shard.ports.events = [.lost([Shard.partition(5)])]
        shard.turn()
        #expect(!shard.callsOfTurn().contains(.transact(.abort)))
    }

    @Test("Behind a hanging message, records that would not fit into a commit are not taken")
    func window() {
        let shard = Shard.transactional {
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
        // They are of one batch, of which nothing is done yet.
        var ledger = OffsetLedger(startingAt: 0)
        for offset in 0..<taken {
            #expect(ledger.metadataSizeBound(taking: offset) <= 64)
            _ = ledger.take(offset)
        }
        #expect(ledger.metadataSizeBound(taking: taken) > 64)
        expect(shard.ports.released.count, is: 301)
        #expect(shard.figures.partitions[0].isPaused)
    }

    @Test("A step that fails for good replaces the producer, and offsets are asked for again")
    func replaced() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.transaction = { if case .addOffsets = $0 { .failed(KafkaError("fenced")) } else { .done } }
        let calls = shard.callsOfTurn(after: .milliseconds(20))
        expect(calls.told, is: [.producerReplaced(reason: "fenced (_FAIL)")])
        shard.ports.transaction = { _ in .done }
        let next = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(next.contains(.replaceProducer))
        #expect(next.told.contains(.transactionAborted(reason: "its producer has failed")))
        #expect(next.contains(.transact(.initialize)))
        #expect(next.contains(.askCommitted([partition])))
        shard.ports.events = [.committed([Shard.commit(0)])]
        #expect(shard.callsOfTurn().contains(.seek(Shard.position(0))))
    }

    @Test("A partition's start is not committed again after a commit with an unknown outcome")
    func beginningOnce() {
        let shard = Shard.transactional { $0.reset = .earliest }
        let other = Shard.partition(1)
        shard.ports.events = [.assigned([partition, other])]
        shard.turn()
        shard.ports.events = [.committed([Position(partition, offset: Position.none), Shard.commit(0, of: 1)])]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<2)]
        shard.turn()
        shard.deliver()
        expect(shard.published(), is: [0])
        shard.acknowledge()
        // The brokers may have committed it.
        shard.ports.transaction = { if case .commit = $0 { .failed(KafkaError("fenced")) } else { .done } }
        #expect(shard.callsOfTurn(after: .milliseconds(20)).contains(.transact(.commit)))
        shard.ports.transaction = { _ in .done }
        for _ in 0..<2 { shard.turn() }
        // The offset of the other partition is known first.
        shard.ports.events = [.committed([Shard.commit(0, of: 1)])]
        shard.turn()
        shard.deliver(of: 1)
        expect(shard.published(), is: [0])
        shard.acknowledge()
        shard.ports.events = [.revoked([partition])]
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
        let committed = calls.compactMap { call -> [Position]? in
            if case .transact(.addOffsets(let positions)) = call { positions } else { nil }
        }
        expect(committed.map { $0.map(\.partition) }, is: [[other]])
        #expect(calls.contains(.giveBack([partition])))
    }

    @Test("A failed producer is asked for nothing more of its transaction")
    func failedProducer() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.hasProducerFailed = true
        shard.turn()
        expect(shard.callsOfTurn(after: .milliseconds(20)), is: [.purge(all: true)])
    }

    @Test("An open transaction is aborted when its shard leaves")
    func leaves() {
        let shard = Shard.transactional()
        shard.begin()
        shard.ports.transaction = { $0 == .abort ? .retry(.unanswered) : .done }
        shard.ports.terminations = 2
        let calls = shard.callsOfTurn()
        expect(calls.count { $0 == .transact(.abort) }, is: 5)
        expect(calls.last, is: .leave)
        let other = Shard.transactional()
        other.begin()
        other.ports.terminations = 2
        expect(other.callsOfTurn().count { $0 == .transact(.abort) }, is: 1)
    }

    @Test("A shard that leaves reports a transaction that it has no time to commit")
    func leavesUncommitted() {
        let shard = Shard.transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.terminations = 2
        let told = shard.callsOfTurn().told
        #expect(told.contains(.transactionAborted(reason: "there was no time to commit it")))
    }
}
