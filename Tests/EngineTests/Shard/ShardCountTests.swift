import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Counts of a shard")
struct ShardCountTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("A partition is read only after its counts are restored")
    func restored() {
        let shard = Shard.counting()
        shard.assign()
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        expect(shard.callsOfTurn(), is: [.replicate([start]), .tell(.restoring([0]))])
        expect(shard.figures.restoring, is: 1)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(50))
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1, isWhole: false)]
        expect(shard.callsOfTurn(), is: [.tell(.changelogHeldUp(partition: 0, offset: 1))])
        // Nothing wakes the shard for what a batch leaves.
        #expect(shard.mayHaveMoreCounts)
        shard.ports.replica = [Shard.end(2)]
        expect(
            shard.callsOfTurn(),
            is: [
                .tell(.restored([0], records: 1)), .read([Shard.position(0)]), .tell(.reading([partition])),
            ])
        expect(shard.callsOfTurn(), is: [.replicate([])])
        shard.deliver(5)
        let begun = shard.callsOfTurn().filter { if case .begin = $0 { true } else { false } }
        expect(
            begun,
            is: [
                .begin(offset: 0, count: 5, isCounted: true), .begin(offset: 1, count: 5, isCounted: true),
                .begin(offset: 2, count: 5, isCounted: true), .begin(offset: 3, count: 5, isCounted: true),
                .begin(offset: 4, count: 5, isCounted: false),
            ])
    }

    @Test("A counted event is done when the changelog has its count")
    func counted() {
        let shard = Shard.counting { $0.maxInFlight = 1000 }
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.acknowledge()
        expect(shard.callsOfTurn(), is: [])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(20))
        expect(shard.callsOfTurn(after: .milliseconds(19)), is: [])
        expect(
            shard.callsOfTurn(after: .milliseconds(1)),
            is: [
                .publishChange(key: "anna", value: "1 0", timestamp: shard.ports.wallClock),
                .publishChange(key: "anna", value: "2 1", timestamp: shard.ports.wallClock),
            ])
        expect(shard.figures.partitions.map(\.oldest), is: [1_000])
        #expect(shard.committed(after: .milliseconds(30)) == nil)
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [2])
        expect(shard.figures.partitions.map(\.oldest), is: [nil])
    }

    @Test("Changes wait no longer than the checkpoint interval, and not at all in a full shard")
    func changesDue() {
        let short = Shard.counting { $0.checkpointInterval = .milliseconds(7) }
        short.begin()
        short.deliver()
        short.turn()
        short.acknowledge()
        expect(short.turn(), is: short.ports.now + .milliseconds(7))
        let full = Shard.counting { $0.maxInFlight = 2 }
        full.begin()
        for sent in [0, 2] {
            full.deliver()
            full.turn()
            full.acknowledge()
            full.turn()
            expect(full.ports.takeSentChanges().count, is: sent)
        }
    }

    @Test("A change that the producer does not take is tried again after 5 ms")
    func changesLater() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.changePublishing = .later
        expect(shard.callsOfTurn(after: .milliseconds(20)).count, is: 1)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(5))
        expect(shard.callsOfTurn(after: .milliseconds(4)), is: [])
        shard.ports.changePublishing = .queued
        expect(shard.callsOfTurn(after: .milliseconds(1)).count, is: 1)
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [1])
    }

    @Test("A change that brokers refuse is reported, and sent again with its event's timestamp")
    func changesRefused() {
        let shard = Shard.counting()
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
        expect(shard.callsOfTurn(), is: [.tell(.changelogRefused(reason: "time"))])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(50))
        expect(
            shard.callsOfTurn(after: .milliseconds(50)),
            is: [
                .publishChange(key: "anna", value: "1 0", timestamp: 1_000)
            ])
        shard.acknowledgeChanges(at: 5)
        #expect(
            shard.callsOfTurn().contains(.publishChange(key: "anna", value: "2 1", timestamp: 1_000)))
        shard.acknowledgeChanges(at: 6)
        shard.acceptCommit()
        expect(shard.committed(after: .milliseconds(20))?.map(\.offset), is: [2])
    }

    @Test("A change whose topic is unavailable is reported, and sent again unchanged")
    func changesUnavailable() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        for change in shard.ports.takeSentChanges() {
            shard.ports.reports.append(OutputReport(tag: change.tag, failure: .unavailable(reason: "not allowed")))
        }
        expect(shard.callsOfTurn(), is: [.tell(.changelogRefused(reason: "not allowed"))])
        let again = ScriptedPorts.Call.publishChange(key: "anna", value: "1 0", timestamp: shard.ports.wallClock)
        expect(shard.callsOfTurn(after: .milliseconds(50)), is: [again])
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [1])
    }

    @Test("A change that the producer itself refuses is also sent again later")
    func changesRefusedAtOnce() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.changePublishing = .refused(reason: "no")
        expect(shard.callsOfTurn(after: .milliseconds(20)).told, is: [.changelogRefused(reason: "no")])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(50))
        shard.ports.changePublishing = .queued
        expect(shard.callsOfTurn(after: .milliseconds(50)).count, is: 1)
        shard.acknowledgeChanges()
        expect(shard.committed()?.map(\.offset), is: [1])
    }

    @Test("A later change of an account waits for an earlier one whose output is not stored")
    func predecessors() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver(3)
        shard.turn()
        let sent = shard.ports.takeSent()
        shard.ports.reports = [OutputReport(tag: sent[2].tag), OutputReport(tag: sent[1].tag)]
        shard.turn()
        shard.turn(after: .milliseconds(20))
        expect(shard.ports.takeSentChanges().map(\.value), is: [])
        expect(shard.figures.inFlight, is: 3)
        shard.ports.reports = [OutputReport(tag: sent[0].tag)]
        shard.turn()
        shard.turn(after: .milliseconds(20))
        let changes = shard.ports.takeSentChanges()
        expect(changes.map(\.value), is: ["1 0", "2 1", "3 2"])
        // Their counts are in flight.
        expect(shard.figures.inFlight, is: 3)
        shard.ports.reports = changes.map { OutputReport(tag: $0.tag) }
        shard.turn()
        expect(shard.figures.inFlight, is: 0)
    }

    @Test(
        "A lost partition purges the producer's queue only if changes of its own wait",
        arguments: 0...1)
    func purges(partition: Int32) {
        let shard = Shard.counting()
        shard.begin(0..<2)
        shard.count()
        shard.deliver(of: 1)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        #expect(
            shard.callsOfTurn(after: .milliseconds(20)).contains { if case .publishChange = $0 { true } else { false } }
        )
        shard.ports.events = [.lost([Shard.partition(partition)])]
        expect(shard.callsOfTurn().contains(.purge(all: false)), is: (partition == 1))
        // The next partition with the same index is not purged for what the previous one left.
        shard.acknowledgeChanges(at: 8)
        shard.ports.events = [.assigned([Shard.partition(7)])]
        shard.turn()
        shard.ports.events = [.lost([Shard.partition(7)])]
        #expect(!shard.callsOfTurn().contains(.purge(all: false)))
    }

    @Test("A stale count that a former owner wrote is corrected before anything is committed")
    func rewritten() {
        let shard = Shard.counting()
        shard.assign()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.record(1, "anna", "4 2"), Shard.end(2)]
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.publishChange(key: "anna", value: "5 3", timestamp: shard.ports.wallClock)))
        shard.deliver(5)
        shard.ports.chain = { _, _ in .ended(.nowhere) }
        #expect(shard.committed() == nil)
        shard.acknowledgeChanges(at: 2)
        expect(shard.committed(after: .milliseconds(20))?.map(\.offset), is: [5])
    }

    @Test("If somebody else wrote to the changelog, it is read again and corrected")
    func writtenSince() {
        let shard = Shard.counting()
        shard.begin()
        func count(_ messages: Int, of recipient: String, at offset: Int64) {
            shard.deliver(messages, to: recipient)
            shard.turn()
            shard.acknowledge()
            shard.turn(after: .milliseconds(20))
            shard.acknowledgeChanges(at: offset)
            shard.turn()
        }
        count(2, of: "bert", at: 0)
        count(1, of: "anna", at: 3)
        shard.turn(after: .seconds(9))
        #expect(!shard.callsOfTurn().contains(.stop(partition)))
        #expect(shard.callsOfTurn(after: .seconds(1)).contains(.stop(partition)))
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        for _ in 0..<2 { shard.turn() }
        #expect(shard.ports.takeCalls().contains(.replicate([start])))
        shard.ports.replica = [
            Shard.record(0, "bert", "1 0"), Shard.record(1, "bert", "2 1"), Shard.record(2, "bert", "1 0"),
            Shard.record(3, "anna", "1 2"), Shard.end(4),
        ]
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.publishChange(key: "bert", value: "2 1", timestamp: shard.ports.wallClock)))
        shard.acknowledgeChanges(at: 4)
        #expect((calls + shard.callsOfTurn()).contains(.read([Position(partition, offset: 3)])))
        shard.turn(after: .seconds(20))
        #expect(!shard.callsOfTurn().contains(.stop(partition)))
    }

    @Test(
        "If the changelog has lost its last records, the counts that it lacks are written again",
        arguments: [false, true])
    func cutSince(isTransactional: Bool) {
        let shard = Shard.counting { $0.isTransactional = isTransactional }
        shard.begin()
        // Each of these is a transaction of its own.
        for (offset, recipient) in ["anna", "bert", "anna"].enumerated() {
            shard.count([recipient], at: Int64(offset))
            shard.turn()
        }
        // The record of anna's second event is gone, and bert's third event takes its place.
        shard.count(["bert"], at: 2)
        #expect(shard.callsOfTurn().told.contains(.changelogAnew(partition: 0)))
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        var calls = shard.callsOfTurn(after: .seconds(10))
        for _ in 0..<3 { calls += shard.callsOfTurn() }
        #expect(calls.contains(.replicate([start])))
        shard.ports.replica = [
            Shard.record(0, "anna", "1 0"), Shard.record(1, "bert", "1 1"), Shard.record(2, "bert", "2 3"),
            Shard.end(3),
        ]
        let rewritten = shard.callsOfTurn()
        #expect(rewritten.contains(.publishChange(key: "anna", value: "2 2", timestamp: shard.ports.wallClock)))
        #expect(!rewritten.contains(.publishChange(key: "bert", value: "2 3", timestamp: shard.ports.wallClock)))
    }

    @Test("A malformed changelog record is reported, and a recreated changelog is read from its beginning")
    func strange() {
        let shard = Shard.counting()
        shard.assign()
        shard.ports.replica = [Shard.record(0, "anna", "x"), (.outOfLog(partition: 0), [], [])]
        let position = RecordPosition(partition: 0, offset: 0, timestamp: 500)
        expect(
            shard.callsOfTurn().told,
            is: [
                .restoring([0]), .changelogNotARecord(position, reason: "the value does not begin with a count"),
                .changelogAnew(partition: 0),
            ])
        let start = RecordPosition(partition: 0, offset: Position.beginning)
        expect(shard.callsOfTurn(), is: [.replicate([start]), .tell(.restoring([0]))])
    }

    @Test("A silent changelog holds up all for a second, and its partition after 5,000 changes")
    func changelogAway() {
        let shard = Shard.counting { $0.maxInFlight = 8 }
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
        expect(taken, is: 5016)
        expect(shard.figures.partitions.map(\.isPaused), is: [true, false])
        shard.deliver()
        shard.deliver(of: 1)
        expect(shard.published(), is: [0])
        shard.acknowledge()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        shard.turn()
        #expect(shard.callsOfTurn().contains(.read([Shard.position(5016)])))
    }

    @Test("Changes that wait for a late changelog take no room from messages", arguments: [(8, 8), (1_100, 1_000)])
    func besideLate(room: Int, count: Int) {
        let shard = Shard.counting { $0.maxInFlight = room }
        shard.begin()
        shard.deliver(4)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .seconds(2))
        shard.deliver(count + 1)
        expect((0..<6).reduce(0) { published, _ in published + shard.published().count }, is: count)
    }
}
