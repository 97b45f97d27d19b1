import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Partitions that are assigned to a shard")
struct ShardPartitionTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("A shard asks for the committed offset, and reads the partition from there")
    func begins() {
        let shard = Shard()
        expect(shard.turn(), is: .never)
        shard.ports.events = [.assigned([partition])]
        expect(shard.callsOfTurn(), is: [.tell(.assigned([partition])), .acceptAssignment, .askCommitted([partition])])
        // A quarter of the session timeout: a shard that makes no turn for half of it counts as having been away.
        expect(shard.turn(), is: shard.ports.now + .milliseconds(11_250))
        expect(shard.callsOfTurn(after: .milliseconds(14_999)), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.askCommitted([partition])])
        shard.ports.events = [.committed([Shard.commit(7)])]
        expect(shard.callsOfTurn(), is: [.read([Shard.position(7)]), .tell(.reading([partition]))])
        // The answer and the assignment come again.
        shard.ports.events = [.committed([Shard.commit(3)]), .assigned([partition])]
        expect(shard.callsOfTurn(), is: [.tell(.assigned([partition])), .acceptAssignment, .seek(Shard.position(7))])
    }

    @Test("A partition is read once everything else that it needs is prepared")
    func prepared() {
        let shard = Shard()
        shard.ports.isPrepared = false
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(7)])]
        expect(shard.callsOfTurn(), is: [])
        expect(shard.figures.partitions.map(\.isRestoring), is: [true])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(100))
        shard.ports.isPrepared = true
        #expect(shard.callsOfTurn().contains(.read([Shard.position(7)])))
    }

    @Test(
        "Without a committed offset the reset rule decides, and its offset is committed",
        arguments: [(.earliest, 20), (.latest, 50)] as [(ShardSettings.Reset, Int64)])
    func reset(reset: ShardSettings.Reset, offset: Int64) {
        let shard = Shard { $0.reset = reset }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        expect(shard.callsOfTurn(), is: [.askRange(partition)])
        expect(shard.callsOfTurn(after: .milliseconds(14_999)), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.askRange(partition)])
        shard.ports.events = [.range(partition, 20..<50)]
        let calls = shard.callsOfTurn()
        expect(calls.prefix(2), is: [.read([Shard.position(offset)]), .tell(.reading([partition]))])
        guard case .commit(let positions, _) = calls.last else {
            Issue.record("nothing is committed: \(calls)")
            return
        }
        expect(positions.map(\.offset), is: [offset])
    }

    @Test("If the reset rule is an error, the partition waits and asks again after ten seconds")
    func resetError() {
        let shard = Shard { $0.reset = .error }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(partition, 20..<50)]
        expect(shard.callsOfTurn(), is: [.tell(.offsetMissing(partition))])
        expect(shard.turn(), is: shard.ports.now + .seconds(10))
        expect(shard.callsOfTurn(after: .seconds(10)), is: [.askCommitted([partition])])
    }

    @Test("Foreign metadata is reported, and its offset used; a newer release's holds the partition up")
    func metadata() {
        let shard = Shard()
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        let newer = Position(partition, offset: 4, metadata: "PMv9AAAA")
        shard.ports.events = [.committed([newer])]
        let reason = "its metadata has version 9, which this release does not know"
        expect(shard.callsOfTurn().told, is: [.newerCommit(newer, reason: reason)])
        expect(shard.callsOfTurn(after: .seconds(5)), is: [.askCommitted([partition])])
        let foreign = Position(partition, offset: 4, metadata: "x")
        shard.ports.events = [.committed([foreign])]
        let calls = shard.callsOfTurn()
        expect(calls.told.first, is: .foreignCommit(foreign, reason: "its metadata was not written by pushmill"))
        #expect(calls.contains(.read([Shard.position(4)])))
    }

    @Test("An expired log is read from its beginning once the group has confirmed the shard")
    func expired() {
        let shard = Shard()
        shard.begin(at: 5)
        shard.ports.events = [.outOfLog(partition)]
        expect(shard.callsOfTurn(), is: [.askRange(partition)])
        shard.ports.events = [.range(partition, 20..<50)]
        expect(shard.callsOfTurn(), is: [])
        // Another member may have owned the partition, and counted, until the log had lost everything in between.
        let calls = shard.callsOfTurn()
        guard calls.count == 1, case .commit(let positions, let number) = calls[0] else {
            Issue.record("\(calls)")
            return
        }
        expect(positions.map(\.offset), is: [5])
        shard.ports.events = [.commitEnded(number: number, .denied(.unanswered))]
        expect(shard.callsOfTurn(), is: [])
        shard.ports.events = [.commitEnded(number: number, .accepted)]
        expect(shard.callsOfTurn().told, is: [.confirmed, .logExpired(partition, from: 5, to: 20)])
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(20))])
        shard.ports.messages = [ScriptedPorts.Message(offset: 20)]
        expect(shard.published(), is: [20])
    }

    @Test("With transactions, an expired log is read without asking the group first")
    func expiredInTransaction() {
        let shard = Shard { $0.isTransactional = true }
        shard.begin(at: 5)
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 20..<50)]
        expect(shard.callsOfTurn(), is: [.tell(.logExpired(partition, from: 5, to: 20)), .seek(Shard.position(20))])
    }

    @Test("An offset that a broker denies although the log holds it is read again", arguments: [5, 20] as [Int64])
    func denied(begin: Int64) {
        let shard = Shard()
        shard.begin(at: begin)
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 5..<20)]
        expect(
            shard.callsOfTurn(), is: [.tell(.offsetDenied(partition, offset: begin)), .seek(Shard.position(begin))])
    }

    @Test("A recreated log is read after the unfinished messages of the old one")
    func anew() {
        let shard = Shard()
        shard.begin(at: 5)
        shard.deliver()
        shard.turn()
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<5)]
        expect(shard.callsOfTurn(), is: [])
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        shard.confirm()
        let calls = shard.callsOfTurn()
        expect(calls.told, is: [.confirmed, .logMadeAnew(partition, offset: 0)])
        // The next owner begins there, too.
        shard.acceptCommit()
        let next = shard.callsOfTurn(after: .milliseconds(20))
        #expect(next.contains(.seek(Shard.position(0))))
        let committed = (calls + next).flatMap { call -> [Position] in
            if case .commit(let positions, _) = call { positions } else { [] }
        }
        expect(committed.last?.offset, is: 0)
        shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
        expect(shard.published(), is: [0])
    }

    @Test(
        "A log that does not hold the last counted offset is another one",
        arguments: [(10, true), (11, false)] as [(Int64, Bool)])
    func countedBeyond(end: Int64, isAnew: Bool) {
        let shard = Shard.counting()
        shard.assign(at: 5)
        shard.ports.replica = [Shard.record(0, "anna", "5 10"), Shard.end(1)]
        shard.turn()
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<end)]
        let told = shard.callsOfTurn().told
        shard.confirm()
        expect(
            told + shard.callsOfTurn().told,
            is: (isAnew ? [.confirmed, .logMadeAnew(partition, offset: 0)] : [.offsetDenied(partition, offset: 5)]))
    }

    @Test(
        "A partition that had begun continues at the same offset if the log still holds it",
        arguments: [(0..<60, 50), (55..<60, 60)] as [(Range<Int64>, Int64)])
    func hadBegun(range: Range<Int64>, offset: Int64) {
        let shard = Shard {
            $0.isTransactional = true
            $0.reset = .latest
        }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<50)]
        #expect(shard.callsOfTurn().contains(.read([Shard.position(50)])))
        shard.ports.hasProducerFailed = true
        #expect(shard.callsOfTurn().contains(.replaceProducer))
        #expect(shard.callsOfTurn().contains(.askCommitted([partition])))
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(partition, range)]
        let calls = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.seek(Shard.position(offset))))
    }

    @Test("A shard's partitions share the memory for counts")
    func budgets() {
        let shard = Shard.counting { $0.countBudget = 1 << 20 }
        shard.begin(0..<2)
        expect(shard.countBudgets, is: [1 << 19, 1 << 19])
        shard.ports.events = [.lost([partition])]
        shard.turn()
        expect(shard.countBudgets, is: [nil, 1 << 20])
    }

    @Test("A seek that is not certain is tried again every 100 ms")
    func seeks() {
        let shard = Shard()
        shard.begin()
        shard.ports.seeks = false
        shard.ports.messages = [ScriptedPorts.Message(offset: 5)]
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(100))
        expect(shard.callsOfTurn(after: .milliseconds(99)), is: [])
        shard.ports.seeks = true
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.seek(Shard.position(0))])
        #expect(shard.wantsRecords)
    }

    @Test("A shard that was away for half a session publishes nothing until a commit is accepted")
    func away() {
        let shard = Shard()
        shard.begin(at: 3)
        shard.deliver()
        expect(shard.callsOfTurn(after: .milliseconds(22_499)).told, is: [])
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        shard.deliver()
        let calls = shard.callsOfTurn(after: .milliseconds(22_500))
        expect(calls.first, is: .tell(.wasAway(.milliseconds(22_500))))
        guard calls.count == 2, case .commit(let positions, let number) = calls[1] else {
            Issue.record("\(calls)")
            return
        }
        expect(positions.map(\.offset), is: [4])
        // The numbers of checkpoints do not reach that.
        #expect(number > 1 << 31)
        #expect(!shard.wantsRecords)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(1500))
        // During a rejoin the group is not asked.
        shard.ports.isJoining = true
        expect(shard.callsOfTurn(after: .milliseconds(1500)), is: [])
        shard.ports.isJoining = false
        expect(shard.committed(after: .milliseconds(1500))?.map(\.offset), is: [4])
        shard.ports.events = [.commitEnded(number: number, .retry(.unanswered))]
        expect(shard.callsOfTurn(), is: [])
        shard.ports.events = [.commitEnded(number: number, .accepted)]
        let confirmed = shard.callsOfTurn()
        #expect(confirmed.contains(.tell(.confirmed)))
        // An earlier commit may reach the group after this one: all is committed at once, and once more.
        #expect(confirmed.contains(.publish(ScriptedPorts.Output(partition: 0, offset: 4))))
        #expect(confirmed.contains { if case .commit = $0 { true } else { false } })
        shard.acceptCommit()
        shard.turn()
        shard.acknowledge()
        shard.turn(after: .milliseconds(20))
        shard.acceptCommit()
        shard.turn()
        expect(shard.turn(after: .milliseconds(4_979)), is: shard.ports.now + .milliseconds(1))
        #expect(shard.committed(after: .milliseconds(1)) == nil)
        expect(shard.committed()?.map(\.offset), is: [5])
    }

    @Test("A stage's result in a shard that was away waits until the group accepts a commit")
    func resultWhileAway() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0], for: .seconds(60))
        shard.deliver()
        shard.turn()
        shard.turn(after: .seconds(23))
        shard.ports.stageResults = shard.ports.suspendedEntries
        let calls = shard.callsOfTurn(after: .milliseconds(1500))
        #expect(!calls.contains { if case .publish = $0 { true } else { false } })
        for case .commit(_, let number) in calls where number > 1 << 31 {
            shard.ports.events = [.commitEnded(number: number, .accepted)]
        }
        expect(shard.published(), is: [0])
    }

    @Test("A shard that was away asks again for the offsets of partitions not yet read")
    func awayWhileBeginning() {
        let shard = Shard { $0.reset = .latest }
        shard.begin()
        shard.ports.events = [.assigned([Shard.partition(1)])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none, of: 1)])]
        shard.turn()
        #expect(shard.callsOfTurn(after: .seconds(23)).contains(.askCommitted([Shard.partition(1)])))
    }

    @Test("Confirming commits alternate between partitions, because brokers may have forgotten one")
    func awayWithTwo() {
        let shard = Shard()
        shard.begin(0..<2, at: 3)
        expect(shard.committed(after: .seconds(23))?.map(\.partition), is: [Shard.partition(0)])
        expect(shard.committed(after: .milliseconds(1500))?.map(\.partition), is: [Shard.partition(1)])
        expect(shard.committed(after: .milliseconds(1500))?.map(\.partition), is: [Shard.partition(0)])
    }

    @Test("A shard without partitions has nothing to confirm")
    func awayWithout() {
        let shard = Shard()
        expect(shard.callsOfTurn(after: .seconds(100)), is: [])
    }
}
