import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Shutdown of a shard")
struct ShardEndTests {
    private typealias Shard = ScriptedShard

    /// Turns six times, and returns what the shard asked for.
    private func rest(of shard: ScriptedShard) -> [ScriptedPorts.Call] {
        (0..<6).flatMap { _ in shard.callsOfTurn() }
    }

    /// A shard with 20 seconds' grace that was told to end and has published an output that is not answered.
    private func told() -> ScriptedShard {
        let shard = Shard { $0.shutdownGrace = .seconds(20) }
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.terminations = 1
        shard.turn()
        return shard
    }

    @Test("A shard with nothing in flight leaves the group, and ends once it has left")
    func idle() {
        let shard = Shard()
        shard.begin()
        shard.ports.terminations = 1
        expect(shard.callsOfTurn(), is: [.tell(.ending(inFlight: 0))])
        expect(shard.callsOfTurn(), is: [.leave])
        #expect(!shard.wantsRecords)
        #expect(!shard.hasEnded)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(50))
        shard.ports.hasLeft = true
        expect(shard.turn(), is: .never)
        #expect(shard.hasEnded)
    }

    @Test("A shard that ends finishes and commits what is in flight, and takes nothing new")
    func finishes() {
        let shard = Shard()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.deliver()
        shard.ports.terminations = 1
        expect(rest(of: shard), is: [.tell(.ending(inFlight: 2))])
        shard.acknowledge()
        let calls = rest(of: shard)
        expect(calls.count, is: 1)
        shard.acceptCommit()
        expect(rest(of: shard), is: [.leave])
        expect(shard.ports.messages.count, is: 1)
    }

    @Test("A shard that is given up releases its records and what its partitions needed")
    func givenUp() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.ports.events = [.lost([Shard.partition(1)])]
        shard.turn()
        shard.suspend([0])
        shard.deliver(2)
        shard.turn()
        _ = shard.ports.takeCalls()
        shard.giveUp()
        expect(shard.ports.takeCalls().last, is: .forget([Shard.partition()]))
        expect(shard.ports.released, is: [0, 1])
        expect(shard.figures.inFlight, is: 0)
    }

    @Test("Unpublished messages are dropped after four fifths of the grace")
    func giveUp() {
        let shard = Shard { $0.shutdownGrace = .seconds(20) }
        shard.begin()
        shard.suspend([1], for: .seconds(60))
        shard.deliver(to: "anna")
        shard.deliver(2, to: "bert")
        shard.turn()
        let entry = shard.ports.suspendedEntries
        shard.ports.terminations = 1
        expect(shard.turn(), is: shard.ports.now + .milliseconds(11_250))
        shard.turn(after: .milliseconds(11_250))
        expect(shard.turn(), is: shard.ports.now + .milliseconds(4_750))
        expect(shard.callsOfTurn(after: .milliseconds(4_749)), is: [])
        expect(
            shard.callsOfTurn(after: .milliseconds(1)),
            is: [.tell(.leftUnfinished(2))] + entry.map { .abandon(entry: $0) })
        // Two seconds for the answer, one for the commit, one for leaving.
        expect(shard.turn(), is: shard.ports.now + .seconds(2))
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [1])
        expect(rest(of: shard), is: [])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(1_500))
        expect(rest(of: shard), is: [])
        shard.acceptCommit()
        expect(rest(of: shard), is: [.leave])
        expect(shard.callsOfTurn(after: .milliseconds(3_999)), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.tell(.notLeftInTime)])
        #expect(shard.hasEnded)
    }

    @Test("Messages that are given up at the end do not make the shard reread its changelog")
    func givenUpCount() {
        let shard = Shard.counting { $0.shutdownGrace = .seconds(20) }
        shard.begin()
        // A foreign record is between the two.
        for (recipient, offset) in [("bert", Int64(0)), ("anna", 2)] {
            shard.deliver(to: recipient)
            shard.turn()
            shard.acknowledge()
            shard.turn(after: .milliseconds(20))
            shard.acknowledgeChanges(at: offset)
            shard.turn()
        }
        shard.ports.publishing = { _ in .later }
        shard.deliver(to: "bert")
        shard.turn()
        shard.ports.terminations = 1
        shard.turn()
        shard.turn(after: .seconds(11))
        #expect(shard.callsOfTurn(after: .seconds(5)).contains(.tell(.leftUnfinished(1))))
        #expect(!rest(of: shard).contains { if case .replicate = $0 { true } else { false } })
    }

    @Test("A shard that ends waits for answers until a tenth of the grace is left")
    func bounds() {
        let shard = told()
        shard.turn(after: .seconds(8))
        expect(shard.callsOfTurn(after: .seconds(8)), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1_999)), is: [])
        expect(rest(of: shard), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [])
        expect(rest(of: shard), is: [.tell(.leftUnfinished(1)), .leave])
    }

    /// A shard with 20 seconds' grace that was told to end while three counts are in flight to the changelog.
    private func toldWithChanges() -> ScriptedShard {
        let shard = Shard.counting { $0.shutdownGrace = .seconds(20) }
        shard.begin()
        shard.deliver(3)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.ports.terminations = 1
        expect(rest(of: shard), is: [.tell(.ending(inFlight: 0))])
        return shard
    }

    @Test("A shard that ends waits five seconds for counts that no changelog takes")
    func countsBound() {
        let shard = toldWithChanges()
        expect(shard.callsOfTurn(after: .milliseconds(4_999)), is: [])
        expect(rest(of: shard), is: [])
        shard.turn(after: .milliseconds(1))
        let reason = "the badge changelog has not taken all counts"
        expect(
            rest(of: shard).suffix(3), is: [.tell(.commitFailed(reason: reason)), .purge(all: false), .leave])
    }

    @Test("A shard that ends waits longer for counts while the changelog takes some")
    func countsGoOn() {
        let shard = toldWithChanges()
        shard.turn(after: .milliseconds(4_480))
        shard.acknowledgeChanges(1)
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.acceptCommit()
        shard.turn(after: .milliseconds(500))
        #expect(!rest(of: shard).contains(.leave))
        shard.turn(after: .milliseconds(999))
        #expect(!rest(of: shard).contains(.leave))
        shard.turn(after: .milliseconds(1))
        #expect(rest(of: shard).contains(.leave))
    }

    @Test("A shard that ends repeats a commit that a late one may have undone")
    func commitsAgain() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit(.retry(.unanswered))
        shard.turn()
        expect(shard.committed(after: .milliseconds(50))?.map(\.offset), is: [1])
        shard.acceptCommit()
        shard.turn(after: .seconds(1))
        shard.ports.terminations = 1
        shard.turn()
        expect(shard.committed()?.map(\.offset), is: [1])
        expect(rest(of: shard), is: [])
        shard.acceptCommit()
        expect(rest(of: shard), is: [.leave])
    }

    @Test(
        "The last commit is awaited until a twentieth of the grace is left; a warning says if it was not accepted",
        arguments: zip([false, true], ["there was no time to wait", "the group is rebalancing"]))
    func commitBound(isJoining: Bool, reason: String) {
        let shard = told()
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.ports.isJoining = isJoining
        var waited = Duration.zero
        var calls: [ScriptedPorts.Call] = []
        while waited < .seconds(20), !calls.contains(.leave) {
            waited += .milliseconds(100)
            calls = shard.callsOfTurn(after: .milliseconds(100))
        }
        expect(waited, is: .seconds(19))
        expect(calls.suffix(2), is: [.tell(.commitFailed(reason: reason)), .leave])
    }

    @Test("A shard that ends waits up to five seconds for a rejoin of the group", arguments: [true, false])
    func joining(isOver: Bool) {
        let shard = told()
        shard.acknowledge()
        #expect(shard.committed() != nil)
        shard.ports.isJoining = true
        shard.acceptCommit()
        expect(rest(of: shard), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(4999)), is: [])
        if isOver { shard.ports.isJoining = false }
        expect(shard.callsOfTurn(after: isOver ? .zero : .milliseconds(1)), is: [.leave])
    }

    @Test("A shard that is told to end twice leaves at once; a third time, it has ended")
    func hurry() {
        let shard = Shard()
        shard.begin()
        shard.ports.chain = { _, now in .suspended(until: now + .seconds(60)) }
        shard.deliver()
        shard.turn()
        let entry = shard.ports.suspendedEntries
        shard.ports.terminations = 1
        shard.turn()
        shard.ports.terminations = 1
        let calls = shard.callsOfTurn()
        expect(calls.first, is: .tell(.leftUnfinished(1)))
        expect(Array(calls.dropFirst()), is: entry.map { .abandon(entry: $0) } + [.leave])
        #expect(!shard.hasEnded)
        // What the group says from here on is ignored.
        shard.ports.events = [.revoked([Shard.partition()]), .assigned([Shard.partition(3)])]
        expect(shard.callsOfTurn(), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1_999)), is: [])
        #expect(!shard.hasEnded)
        shard.ports.terminations = 1
        expect(shard.turn(), is: .never)
        #expect(shard.hasEnded)
        shard.ports.terminations = 1
        shard.turn()
        #expect(shard.hasEnded)
    }

    @Test("A partition that is revoked during shutdown has the rest of the phase")
    func revoked() {
        let shard = Shard {
            $0.shutdownGrace = .seconds(20)
            $0.drain = .seconds(30)
        }
        shard.begin()
        shard.ports.chain = { _, now in .suspended(until: now + .seconds(60)) }
        shard.deliver()
        shard.turn()
        shard.ports.terminations = 1
        shard.turn()
        shard.turn(after: .seconds(10))
        shard.ports.events = [.revoked([Shard.partition()])]
        shard.turn()
        expect(shard.revocationDeadline, is: shard.ports.now + .seconds(6))
    }
}
