import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import Testing

@testable import PushmillEngine

@Suite("Counts of a shard")
struct ShardCountTests {
    private typealias Shard = ScriptedShard
    private let place = ScriptedShard.place()

    /// Whose messages count one each.
    private func counting(_ change: (inout ShardSettings) -> Void = { _ in }) -> ScriptedShard {
        let shard = Shard {
            $0.counts = true
            change(&$0)
        }
        shard.ports.chain = { _, _ in .ended(ChainResult(.output, .add(1))) }
        return shard
    }

    private func record(_ offset: Int64, _ recipient: String, _ value: String, of partition: Int32 = 0)
        -> (event: ReplicaEvent, key: [UInt8], value: [UInt8])
    {
        let position = RecordPosition(partition: partition, offset: offset, timestamp: 500)
        return (
            .record(position, key: nil, value: nil), ScriptedPorts.key(of: recipient), Array(value.utf8)
        )
    }

    private func end(_ offset: Int64, of partition: Int32 = 0, isWhole: Bool = true)
        -> (event: ReplicaEvent, key: [UInt8], value: [UInt8])
    {
        (.end(partition: partition, offset: offset, isWhole: isWhole), [], [])
    }

    /// Until its counts are asked for.
    private func assign(_ shard: ScriptedShard, at offset: Int64 = 0) {
        shard.ports.events = [.assigned([place])]
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(offset)])]
    }

    @Test("A partition is read when its counts have been, and no sooner")
    func restored() {
        let shard = counting()
        assign(shard)
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        #expect(shard.callsOfTurn() == [.replicate([start]), .tell(.restoring([0]))])
        #expect(shard.figures.restoring == 1)
        #expect(shard.turn() == shard.ports.now + .milliseconds(50))
        shard.ports.replica = [record(0, "anna", "5 3"), end(1, isWhole: false)]
        #expect(shard.callsOfTurn() == [.tell(.changelogHeldUp(partition: 0, offset: 1))])
        // What a batch leaves is nobody's to wake for.
        #expect(shard.mayHaveMoreCounts)
        shard.ports.replica = [end(2)]
        #expect(
            shard.callsOfTurn() == [
                .tell(.restored([0], records: 1)), .read([Shard.position(0)]), .tell(.reading([place])),
            ])
        #expect(shard.callsOfTurn() == [.replicate([])])
        shard.deliver(5)
        let begun = shard.callsOfTurn().filter { if case .begin = $0 { true } else { false } }
        #expect(
            begun == [
                .begin(offset: 0, count: 5, isCounted: true), .begin(offset: 1, count: 5, isCounted: true),
                .begin(offset: 2, count: 5, isCounted: true), .begin(offset: 3, count: 5, isCounted: true),
                .begin(offset: 4, count: 5, isCounted: false),
            ])
    }

    @Test("An event that counts is done when the changelog has its count")
    func counted() {
        let shard = counting { $0.maxInFlight = 1000 }
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.acknowledge()
        #expect(shard.callsOfTurn() == [])
        #expect(shard.turn() == shard.ports.now + .milliseconds(20))
        #expect(shard.callsOfTurn(after: .milliseconds(19)) == [])
        #expect(
            shard.callsOfTurn(after: .milliseconds(1)) == [
                .publishChange(key: "anna", value: "1 0", timestamp: shard.ports.wallClock),
                .publishChange(key: "anna", value: "2 1", timestamp: shard.ports.wallClock),
            ])
        #expect(shard.figures.partitions.map(\.oldest) == [1_000])
        #expect(shard.committed(after: .milliseconds(30)) == nil)
        shard.acknowledgeChanges()
        #expect(shard.committed()?.map(\.offset) == [2])
        #expect(shard.figures.partitions.map(\.oldest) == [nil])
    }

    @Test("Changes do not wait for a longer interval, nor where they are 256, or an eighth of what may be in flight")
    func changesDue() {
        let short = counting { $0.checkpointInterval = .milliseconds(7) }
        short.begin()
        short.deliver()
        short.turn()
        short.acknowledge()
        #expect(short.turn() == short.ports.now + .milliseconds(7))
        for (room, count, sent) in [(4000, 255, 0), (4000, 256, 256), (80, 9, 0), (80, 10, 10)] {
            let shard = counting { $0.maxInFlight = room }
            shard.begin()
            shard.deliver(count)
            shard.turn()
            shard.acknowledge()
            shard.turn()
            #expect(shard.ports.takeSentChanges().count == sent)
        }
    }

    @Test("The producer that takes no change is asked again after 5 ms")
    func changesLater() {
        let shard = counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.changePublishing = .later
        #expect(shard.callsOfTurn(after: .milliseconds(20)).count == 1)
        #expect(shard.turn() == shard.ports.now + .milliseconds(5))
        #expect(shard.callsOfTurn(after: .milliseconds(4)) == [])
        shard.ports.changePublishing = .queued
        #expect(shard.callsOfTurn(after: .milliseconds(1)).count == 1)
        shard.acknowledgeChanges()
        #expect(shard.committed()?.map(\.offset) == [1])
    }

    @Test("A change that brokers refuse is told, and sent again after a while with its event's time")
    func changesRefused() {
        let shard = counting()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        let changes = shard.ports.takeSentChanges()
        shard.ports.reports = [
            OutputReport(tag: changes[1].tag, offset: 4),
            OutputReport(tag: changes[0].tag, failure: .refused(reason: "time")),
        ]
        #expect(shard.callsOfTurn() == [.tell(.changelogRefused(reason: "time"))])
        #expect(shard.turn() == shard.ports.now + .milliseconds(50))
        #expect(
            shard.callsOfTurn(after: .milliseconds(50)) == [
                .publishChange(key: "anna", value: "1 0", timestamp: 1_000)
            ])
        shard.acknowledgeChanges(at: 5)
        #expect(
            shard.callsOfTurn().contains(.publishChange(key: "anna", value: "2 1", timestamp: 1_000)))
        shard.acknowledgeChanges(at: 6)
        shard.acceptCommit()
        #expect(shard.committed(after: .milliseconds(20))?.map(\.offset) == [2])
    }

    @Test("One that the producer itself refuses waits as well")
    func changesRefusedAtOnce() {
        let shard = counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.changePublishing = .refused(reason: "no")
        #expect(shard.callsOfTurn(after: .milliseconds(20)).told == [.changelogRefused(reason: "no")])
        #expect(shard.turn() == shard.ports.now + .milliseconds(50))
        shard.ports.changePublishing = .queued
        #expect(shard.callsOfTurn(after: .milliseconds(50)).count == 1)
        shard.acknowledgeChanges()
        #expect(shard.committed()?.map(\.offset) == [1])
    }

    @Test("A later change of an account waits for an earlier one whose output is not stored")
    func predecessors() {
        let shard = counting()
        shard.begin()
        shard.deliver(3)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.reports = [OutputReport(tag: sent[2].tag), OutputReport(tag: sent[1].tag)]
        shard.turn()
        shard.turn(after: .milliseconds(20))
        #expect(shard.ports.takeSentChanges().map(\.value) == [])
        #expect(shard.figures.inFlight == 3)
        shard.ports.reports = [OutputReport(tag: sent[0].tag)]
        shard.turn()
        shard.turn(after: .milliseconds(20))
        #expect(shard.ports.takeSentChanges().map(\.value) == ["1 0", "2 1", "3 2"])
        #expect(shard.figures.inFlight == 0)
    }

    @Test("What the changelog has is on the disk after ten seconds, or when the partition is given back")
    func writtenBehind() throws {
        let shard = counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[place])
        for _ in 0..<2 {
            shard.deliver()
            shard.turn()
            shard.acknowledge()
            shard.turn()
            shard.turn(after: .milliseconds(20))
            shard.acknowledgeChanges()
            shard.turn()
            shard.acceptCommit()
            shard.turn()
        }
        let before = disk.rows.count
        shard.turn(after: .seconds(9))
        #expect(disk.rows.count == before)
        shard.turn(after: .seconds(1))
        #expect(disk.rows.values.map { $0 } == [CountState(count: 2, incarnation: 0, offset: 1)])
        shard.deliver(to: "bert")
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges(at: 8)
        shard.ports.events = [.revoked([place])]
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        #expect(disk.rows.count == 2)
        #expect(disk.position?.offset == 8)
    }

    @Test("A disk that cannot be read is told, and counts are restored anew")
    func diskFails() throws {
        let shard = counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[place])
        disk.isFailing = true
        shard.deliver()
        let calls = shard.callsOfTurn()
        #expect(calls.told == [.diskFailed(place)])
        #expect(shard.ports.released == [0])
        #expect(shard.figures.inFlight == 0)
        disk.isFailing = false
        #expect(shard.callsOfTurn(after: .milliseconds(999)) == [])
        #expect(shard.callsOfTurn(after: .milliseconds(1)) == [.askCommitted([place])])
    }

    @Test("A disk that cannot be written is told, and written later")
    func diskFull() throws {
        let shard = counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[place])
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        shard.turn()
        disk.isFailing = true
        #expect(shard.callsOfTurn(after: .seconds(10)).told == [.diskFailed(place)])
        disk.isFailing = false
        shard.turn(after: .seconds(10))
        #expect(disk.rows.count == 1)
    }

    @Test("What an owner wrote behind its successor's back is put right before anything is committed")
    func rewritten() {
        let shard = counting()
        assign(shard)
        shard.ports.replica = [record(0, "anna", "5 3"), record(1, "anna", "4 2"), end(2)]
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.publishChange(key: "anna", value: "5 3", timestamp: shard.ports.wallClock)))
        shard.deliver(5)
        shard.ports.chain = { _, _ in .ended(ChainResult(.nowhere)) }
        #expect(shard.committed() == nil)
        shard.acknowledgeChanges(at: 2)
        #expect(shard.committed(after: .milliseconds(20))?.map(\.offset) == [5])
    }

    @Test("What is none of ours in the changelog is told, and another log is read from its beginning")
    func strange() {
        let shard = counting()
        assign(shard)
        shard.ports.replica = [record(0, "anna", "x"), (.outOfLog(partition: 0), [], [])]
        let position = RecordPosition(partition: 0, offset: 0, timestamp: 500)
        #expect(
            shard.callsOfTurn().told == [
                .restoring([0]), .changelogNotARecord(position, reason: "the value does not begin with a count"),
                .changelogAnew(partition: 0),
            ])
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        #expect(shard.callsOfTurn() == [.replicate([start]), .tell(.restoring([0]))])
    }

    @Test("A changelog that does not answer holds up all for a second, and its partition once that has much to tell")
    func changelogAway() {
        let shard = counting { $0.maxInFlight = 8 }
        shard.begin(0..<2)
        var taken = 0
        func doSome() {
            shard.deliver(8)
            shard.turn()
            shard.acknowledge()
            shard.turn()
            taken += 8
        }
        doSome()
        #expect(!shard.figures.hasRoom)
        shard.turn(after: .seconds(1))
        #expect(!shard.figures.hasRoom)
        shard.turn(after: .milliseconds(1))
        #expect(shard.figures.hasRoom)
        while taken < 10_000, shard.figures.partitions.map(\.isPaused) == [false, false] { doSome() }
        #expect(taken == 5016)
        #expect(shard.figures.partitions.map(\.isPaused) == [true, false])
        shard.deliver()
        shard.deliver(of: 1)
        #expect(shard.published() == [0])
        shard.acknowledge()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        shard.turn()
        #expect(shard.callsOfTurn().contains(.read([Shard.position(5016)])))
    }

    @Test("The counts of a log that seems to be made anew are asked for once more before that is believed")
    func newLog() {
        let shard = counting { $0.reset = .earliest }
        let highest = record(0, "anna", "5 30")
        shard.ports.events = [.assigned([place])]
        shard.turn()
        for isBelieved in [false, true] {
            shard.ports.events = [.committed([Shard.position(Position.none)])]
            #expect(shard.callsOfTurn().contains(.askRange(place)))
            shard.ports.events = [.range(place, 0..<10)]
            shard.ports.replica = [highest, end(1)]
            let calls = shard.callsOfTurn()
            if isBelieved {
                #expect(calls.contains(.read([Shard.position(0)])))
                #expect(calls.contains(.publishChange(key: "", value: "0 0 1", timestamp: shard.ports.wallClock)))
            } else {
                #expect(calls.contains(.askCommitted([place])))
            }
        }
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: false)))
    }
}

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
        shard.ports.transaction = { if case .addOffsets = $0 { .abort(reason: "no") } else { .done } }
        #expect(shard.callsOfTurn(after: .milliseconds(20)).told == [.transactionAborted(reason: "no")])
        shard.ports.transaction = { _ in .done }
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
        shard.turn()
        shard.fail(.purged)
        shard.turn()
        #expect(shard.callsOfTurn().told == [.transactionAborted(reason: "not all of its outputs are stored")])
    }

    @Test("Of a batch that is refused each is sent alone in its turn, and the poison record becomes a dead letter")
    func poison() {
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
        shard.ports.messages = again
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.refuseCurrent(reason: "bad")))
        #expect(calls.contains(.publish(ScriptedPorts.Output(partition: 0, offset: 0, isLetter: true))))
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
        shard.ports.chain = {
            $0.offset == 0 ? .suspended(until: $1 + .seconds(9)) : .ended(ChainResult(.nowhere))
        }
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
        shard.ports.transaction = { if case .addOffsets = $0 { .failed(reason: "fenced") } else { .done } }
        let calls = shard.callsOfTurn(after: .milliseconds(20))
        #expect(calls.told == [.producerReplaced(reason: "fenced")])
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
        shard.ports.transaction = { $0 == .abort ? .retry : .done }
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
