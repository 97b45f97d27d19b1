import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Rebalances in a shard")
struct ShardRebalanceTests {
    private typealias Shard = ScriptedShard
    private let partitions = [ScriptedShard.partition()]

    @Test("A renamed member asks for all offsets again, and commits nothing from before")
    func renamed() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.ports.events = [.memberIDChanged, .revoked([Shard.partition(1)])]
        let calls = shard.callsOfTurn()
        #expect(calls.told.contains(.memberIDChanged))
        #expect(calls.contains(.askCommitted([Shard.partition(0)])))
        shard.ports.events = [.committed([Shard.commit(5)])]
        let next = (0..<3).flatMap { _ in shard.callsOfTurn(after: .seconds(1)) }
        #expect(next.contains(.seek(Shard.position(5))))
        #expect(!(calls + next).contains { if case .commit = $0 { true } else { false } })
        // A shard without partitions has lost nothing.
        let other = Shard()
        other.ports.events = [.memberIDChanged]
        expect(other.callsOfTurn().told, is: [])
    }

    @Test("A partition that is taken away as its offset arrives is not read", arguments: [false, true])
    func takenAtOnce(isLost: Bool) {
        let shard = Shard()
        shard.ports.events = [.assigned(partitions)]
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(7)]), isLost ? .lost(partitions) : .revoked(partitions)]
        let calls = shard.callsOfTurn() + shard.callsOfTurn()
        #expect(calls.contains(.giveBack(partitions)))
        #expect(!calls.contains { if case .read = $0 { true } else { false } })
        #expect(!calls.told.contains(.reading(partitions)))
        shard.begin(at: 7)
        shard.deliver()
        expect(shard.published(), is: [7])
    }

    @Test("A revoked partition is finished and committed before it is given back")
    func drained() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.deliver(of: 1)
        shard.turn()
        shard.ports.events = [.revoked(partitions)]
        shard.deliver()
        shard.deliver(of: 1)
        expect(shard.callsOfTurn(), is: [.tell(.revoked(partitions))])
        // Nothing is taken of either partition.
        expect(shard.ports.released.count, is: 4)
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [1, 1])
        expect(shard.callsOfTurn(), is: [])
        shard.acceptCommit()
        expect(
            shard.callsOfTurn(),
            is: [
                .giveBack(partitions), .forget(partitions), .tell(.givenBack(partitions)),
                .seek(Shard.position(1, of: 1)),
            ])
        expect(shard.figures.partitions.map(\.id), is: [Shard.partition(1)])
    }

    @Test("After the drain timeout unpublished messages are dropped, and published ones still answered")
    func drainBound() {
        let shard = Shard { $0.drain = .seconds(5) }
        shard.begin()
        shard.suspend([1], for: .seconds(60))
        shard.deliver(to: "anna")
        shard.deliver(2, to: "bert")
        shard.turn()
        let entry = shard.ports.suspendedEntries
        shard.ports.events = [.revoked(partitions)]
        shard.turn()
        expect(shard.turn(), is: shard.ports.now + .seconds(5))
        expect(shard.callsOfTurn(after: .milliseconds(4_999)), is: [])
        expect(
            shard.callsOfTurn(after: .milliseconds(1)),
            is: [.tell(.drainTooLong(unfinished: 3))] + entry.map { .abandon(entry: $0) })
        expect(shard.figures.inFlight, is: 1)
        expect(shard.turn(), is: shard.ports.now + .seconds(2))
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.acceptCommit()
        #expect(shard.callsOfTurn().contains(.giveBack(partitions)))
    }

    @Test("Outputs that are unanswered two seconds after a drain are left to the next owner")
    func answerBound() {
        let shard = Shard { $0.drain = .seconds(1) }
        shard.begin()
        shard.deliver(2)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.reports = [OutputReport(tag: sent[0].tag)]
        shard.ports.events = [.revoked(partitions)]
        shard.turn()
        shard.ports.events = [.commitEnded(number: shard.commitNumber, .accepted)]
        expect(shard.callsOfTurn(after: .seconds(1)).told, is: [.drainTooLong(unfinished: 1)])
        expect(shard.callsOfTurn(after: .milliseconds(1_999)), is: [])
        // An output that is returned here is not sent again: the next owner does it.
        shard.ports.reports = [
            OutputReport(tag: sent[1].tag, failure: .unavailable(reason: ""), returned: sent[1].output)
        ]
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [])
        expect(shard.callsOfTurn(), is: [.giveBack(partitions), .forget(partitions), .tell(.givenBack(partitions))])
    }

    @Test("Partitions of two revocations are given back together")
    func twice() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.turn()
        shard.ports.events = [.revoked(partitions)]
        shard.turn()
        shard.ports.events = [.revoked([Shard.partition(1), Shard.partition(9)])]
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.giveBack([Shard.partition(), Shard.partition(1), Shard.partition(9)])))
        #expect(shard.figures.partitions.isEmpty)
        expect(shard.turn(), is: .never)
    }

    @Test("The work of a lost partition is dropped, and the producer's queue is purged")
    func lost() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.ports.chain = {
            $0.partition == 0 && $0.offset == 1
                ? .suspended(until: $1 + .seconds(60)) : .ended(.output)
        }
        shard.deliver(to: "bert")
        shard.deliver(2, to: "anna")
        shard.deliver(of: 1, to: "carl")
        shard.turn()
        let entry = shard.ports.suspendedEntries
        shard.ports.events = [.lost(partitions)]
        expect(
            shard.callsOfTurn(),
            is: [.tell(.lost(partitions))] + entry.map { .abandon(entry: $0) } + [
                .purge(all: false), .giveBack(partitions), .forget(partitions), .seek(Shard.position(1, of: 1)),
            ])
        // The answers to what was published of it are ignored.
        shard.acknowledge()
        expect(shard.committed()?.map(\.partition.partition), is: [1])
        expect(shard.figures.inFlight, is: 0)
        expect(shard.ports.released.sorted(), is: [0, 0, 1, 2])
        // Its stage is not abandoned once more either.
        let calls = shard.callsOfTurn(after: .seconds(60))
        #expect(!calls.contains { if case .wakeUp = $0 { true } else { false } })
    }

    @Test("A message that waits for the key of a dropped one continues", arguments: [false, true])
    func keyOfLost(isLost: Bool) {
        let shard = Shard { $0.drain = .seconds(5) }
        shard.begin(0..<2)
        shard.ports.chain = { $0.partition == 0 ? .suspended(until: $1 + .seconds(60)) : .ended(.output) }
        shard.deliver()
        shard.deliver(of: 1)
        expect(shard.published(), is: [])
        shard.ports.events = [isLost ? .lost(partitions) : .revoked(partitions)]
        if !isLost {
            shard.turn()
            expect(shard.turn(after: .seconds(5)), is: shard.ports.now)
        }
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.publish(ScriptedPorts.Output(partition: 1, offset: 0))))
    }

    @Test("A revoked partition is given back after its counts are stored")
    func counts() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.events = [.revoked(partitions)]
        expect(shard.callsOfTurn(), is: [.tell(.revoked(partitions))])
        shard.turn(after: .milliseconds(20))
        expect(shard.callsOfTurn(), is: [])
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.acceptCommit()
        #expect(shard.callsOfTurn().contains(.giveBack(partitions)))
    }

    @Test("The last commit of a revoked partition has two seconds of its own")
    func commitBound() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.events = [.revoked(partitions)]
        shard.turn()
        shard.turn(after: .milliseconds(1_000))
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [1])
        #expect(!shard.callsOfTurn(after: .milliseconds(1_999)).contains(.giveBack(partitions)))
        #expect(shard.callsOfTurn(after: .milliseconds(1)).contains(.giveBack(partitions)))
    }

    @Test("A revoked partition waits for a commit that has to be retried")
    func commitAgain() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.events = [.revoked(partitions)]
        shard.acknowledge()
        shard.turn()
        shard.turn()
        shard.acceptCommit(.retry(.unanswered))
        expect(shard.callsOfTurn(), is: [])
        expect(shard.committed(after: .milliseconds(50))?.map(\.offset), is: [1])
        shard.acceptCommit()
        #expect(shard.callsOfTurn().contains(.giveBack(partitions)))
    }

    @Test("Later work of other partitions does not hold up a revoked one")
    func othersDone() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.deliver(of: 1)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.events = [.revoked(partitions)]
        shard.ports.reports = [OutputReport(tag: sent[0].tag)]
        expect(shard.committed()?.map(\.partition.partition), is: [0])
        shard.turn()
        shard.ports.reports = [OutputReport(tag: sent[1].tag)]
        shard.turn()
        shard.acceptCommit()
        #expect(shard.callsOfTurn().contains(.giveBack(partitions)))
    }

    @Test("Outputs that are returned after the drain are left to the next owner at once")
    func returnedAfterDrain() {
        let shard = Shard { $0.drain = .seconds(1) }
        shard.begin()
        shard.deliver(2)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.events = [.revoked(partitions)]
        shard.turn()
        shard.turn(after: .seconds(1))
        shard.ports.reports = [
            OutputReport(tag: sent[0].tag),
            OutputReport(tag: sent[1].tag, failure: .unavailable(reason: ""), returned: sent[1].output),
        ]
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.acceptCommit()
        let calls = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.giveBack(partitions)))
        #expect(!calls.contains { if case .publish = $0 { true } else { false } })
    }

    @Test("A partition that is lost during its drain is not given back twice")
    func lostInDrain() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.deliver(of: 1)
        shard.turn()
        shard.ports.events = [.revoked(partitions + [Shard.partition(1)])]
        shard.turn()
        shard.ports.events = [.lost(partitions)]
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.giveBack([Shard.partition(1)])))
        #expect(shard.figures.partitions.isEmpty)
        shard.begin()
        shard.deliver()
        expect(shard.published().count, is: 1)
    }

    @Test("Held outputs of a lost partition are not sent, and hold up no others")
    func lostWhileHeld() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.ports.publishing = { _ in .later }
        shard.deliver()
        shard.deliver(of: 1)
        shard.turn()
        shard.ports.events = [.lost(partitions)]
        shard.ports.publishing = { _ in .queued }
        let sent = shard.callsOfTurn(after: .milliseconds(5)).filter { if case .publish = $0 { true } else { false } }
        expect(sent, is: [.publish(ScriptedPorts.Output(partition: 1, offset: 0))])
        shard.deliver(of: 1)
        expect(shard.published(), is: [1])
        // Each message was released once.
        expect(shard.ports.released, is: [0, 0, 1])
    }

    @Test("Returned outputs of a lost partition are not sent again, and hold up no others")
    func lostWhenReturned() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.deliver()
        shard.deliver(of: 1)
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        shard.ports.events = [.lost(partitions)]
        let sent = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(100)) }
            .compactMap { if case .publish(let output) = $0 { output.partition } else { nil } }
        expect(sent, is: [1])
        shard.acknowledge()
        shard.turn()
        shard.deliver(of: 1)
        expect(shard.published(), is: [1])
    }

    @Test("A shard that was away and has lost all partitions needs no confirmation")
    func lostWhileUnconfirmed() {
        let shard = Shard()
        shard.begin()
        shard.turn(after: .seconds(30))
        shard.ports.events = [.lost(partitions)]
        shard.turn()
        shard.begin()
        #expect(shard.wantsRecords)
    }
}
