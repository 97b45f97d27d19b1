import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Partitions whose intake is paused")
struct ShardStallTests {
    private typealias Shard = ScriptedShard

    @Test("A partition whose window is full is read again from there once there is room")
    func stalled() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0], for: .seconds(9))
        let far = Int64(OffsetLedger.spanLimit)
        shard.ports.messages = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: far)]
        expect(
            shard.callsOfTurn(),
            is: [
                .tell(.windowFull(Shard.partition(), offset: far)), .stop(Shard.partition()),
                .begin(offset: 0, count: nil, isCounted: false),
            ])
        expect(shard.ports.released, is: [far, 0])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(100))
        expect(shard.figures.partitions.map(\.isPaused), is: [true])
        shard.ports.stageResults = shard.ports.suspendedEntries
        shard.turn()
        #expect(!shard.callsOfTurn().contains(.read([Shard.position(1)])))
        shard.acknowledge()
        shard.turn()
        #expect(shard.callsOfTurn().contains(.read([Shard.position(1)])))
        expect(shard.figures.partitions.map(\.isPaused), is: [false])
        // It is read, so a rebalance makes the shard seek.
        shard.ports.events = [.assigned([])]
        #expect(shard.callsOfTurn().contains(.seek(Shard.position(1))))
    }

    @Test(
        "Behind a hanging message, reading resumes once less than half of the window is used",
        arguments: [(0, false), (1, true)] as [(Int64, Bool)])
    func stalledBehind(beyond: Int64, isRead: Bool) {
        let shard = Shard()
        shard.begin()
        let far = Int64(OffsetLedger.spanLimit)
        let middle = far / 2 + beyond
        shard.suspend([0, middle], for: .seconds(9))
        shard.ports.messages = [0, middle, far].map { ScriptedPorts.Message(offset: $0, recipient: "\($0)") }
        shard.turn()
        shard.ports.stageResults = [shard.ports.suspendedEntries[0]]
        shard.turn()
        shard.acknowledge()
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
        expect(calls.contains(.read([Shard.position(middle + 1)])), is: isRead)
    }

    @Test(
        "Messages behind a hanging one leave room for other partitions, and are read later",
        arguments: [false, true])
    func crowded(isOfBytes: Bool) {
        let shard = Shard {
            $0.ordering = .partition
            guard isOfBytes else { return }
            ($0.maxInFlight, $0.maxInFlightBytes) = (100, 1_600)
        }
        shard.begin(0..<2)
        shard.ports.chain = { message, now in
            message.offset == 0 && message.partition == 0
                ? .suspended(until: now + .seconds(9)) : .ended(.output)
        }
        // One hangs, and eight wait, which is more than the room that is left.
        for _ in 0..<9 {
            shard.deliver()
            shard.turn()
        }
        shard.deliver()
        let calls = shard.callsOfTurn()
        expect(calls, is: [.tell(.windowFull(Shard.partition(), offset: 9)), .stop(Shard.partition())])
        for offset in 0..<7 as Range<Int64> {
            shard.ports.messages = [ScriptedPorts.Message(partition: 1, offset: offset, recipient: "bert")]
            expect(shard.published(), is: [offset])
        }
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: Array(0..<9))
        shard.acknowledge()
        #expect((0..<3).flatMap { _ in shard.callsOfTurn() }.contains(.read([Shard.position(9)])))
    }

    @Test("Messages that come together behind a hanging one leave room for other partitions")
    func crowdedAtOnce() {
        let shard = Shard { $0.ordering = .partition }
        shard.begin(0..<2)
        shard.ports.chain = { message, now in
            message.offset == 0 && message.partition == 0
                ? .suspended(until: now + .seconds(9)) : .ended(.output)
        }
        shard.deliver()
        shard.turn()
        shard.deliver(20)
        for _ in 0..<10 { shard.turn() }
        #expect(shard.ports.takeCalls().contains(.stop(Shard.partition())))
        shard.ports.messages.removeAll()
        shard.deliver(3, of: 1, to: "bert")
        expect((0..<3).flatMap { _ in shard.published() }, is: [0, 1, 2])
    }

    @Test("A partition with few waiting messages is not paused if others take all the room")
    func fewWait() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.ports.chain = { _, now in .suspended(until: now + .seconds(9)) }
        for number in 0..<12 { shard.deliver(of: 1, to: "\(number)") }
        shard.turn()
        for _ in 0..<4 {
            shard.deliver()
            shard.turn()
        }
        expect(shard.figures.inFlight, is: 16)
        #expect(!shard.ports.takeCalls().contains(.stop(Shard.partition())))
    }

    @Test("A few records wait for others, but not beyond the end of their transaction")
    func intakePause() {
        let shard = Shard.transactional {
            $0.intakePause = .milliseconds(8)
            $0.maxInFlight = 200
        }
        shard.begin()
        shard.deliver()
        expect(shard.published(), is: [0])
        #expect(!shard.wantsRecords)
        shard.deliver()
        expect(shard.published(after: .milliseconds(7)), is: [])
        expect(shard.turn(), is: shard.ports.now + .milliseconds(1))
        expect(shard.published(after: .milliseconds(1)), is: [1])
        shard.turn(after: .milliseconds(8))
        #expect(shard.wantsRecords)
        // Many do not wait.
        shard.deliver(100)
        expect(shard.published().count, is: 100)
        shard.deliver()
        expect(shard.published(), is: [102])
        // The transaction ends.
        shard.deliver()
        expect(shard.published(after: .milliseconds(4)), is: [103])
    }

    @Test("A shard's only partition may take all the room")
    func alone() {
        let shard = Shard { $0.ordering = .partition }
        shard.begin()
        shard.suspend([0], for: .seconds(9))
        for _ in 0..<16 {
            shard.deliver()
            shard.turn()
        }
        expect(shard.figures.inFlight, is: 16)
        #expect(!shard.ports.takeCalls().contains(.stop(Shard.partition())))
    }
}

@Suite("Many messages that wait for one of their recipient")
struct ShardHurryTests {
    private typealias Shard = ScriptedShard

    /// The first of each of these recipients' messages hangs.
    private func hang(_ shard: Shard, _ recipients: Set<String>) {
        var hanging = recipients
        shard.ports.chain = { message, now in
            hanging.remove(message.recipient) == nil ? .ended(.output) : .suspended(until: now + .seconds(9))
        }
    }

    @Test("If they take more room than is left, they leave late and in order, and nobody else waits", arguments: 1...2)
    func half(partitions: Int32) {
        let shard = Shard()
        shard.begin(0..<partitions)
        hang(shard, ["anna", "bert"])
        shard.deliver(to: "bert")
        for _ in 0..<7 {
            shard.deliver(to: "anna")
            expect(shard.published(), is: [])
        }
        // One hangs, and seven wait; six more have room.
        shard.deliver(2, to: "anna")
        expect(
            shard.callsOfTurn().filter { if case .tell = $0 { true } else { false } },
            is: [.tell(.recipientsHurried(count: 9, first: Position(Shard.partition(), offset: 1)))])
        expect(shard.published(), is: Array(1...9))
        expect(shard.ports.late, is: Array(1...9))
        expect(shard.ports.suspendedEntries.count, is: 1)
        shard.acknowledge()
        shard.turn()
        shard.deliver(to: "anna")
        expect(shard.published(), is: [10])
        expect(shard.ports.late.count, is: 9)
    }

    @Test("They do not stop their partition for long")
    func ofPartition() {
        let shard = Shard()
        shard.begin(0..<2)
        let others = (0..<8).map { "other \($0)" }
        hang(shard, Set(others + ["anna"]))
        for other in others { shard.deliver(of: 1, to: other) }
        shard.deliver(6, to: "anna")
        expect(shard.published(), is: [])
        shard.deliver(to: "bert")
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.stop(Shard.partition())))
        #expect(calls.contains(.tell(.recipientsHurried(count: 6, first: Position(Shard.partition(), offset: 0)))))
        expect(shard.published(), is: Array(0..<6))
        expect(shard.ports.late, is: Array(0..<6))
        shard.acknowledge()
        #expect((0..<3).flatMap { _ in shard.callsOfTurn() }.contains(.read([Shard.position(6)])))
    }

    @Test("A few messages of each of many recipients are not hurried")
    func spread() {
        let shard = Shard { $0.maxInFlight = 256 }
        shard.begin()
        let recipients = (0..<64).map { "\($0)" }
        hang(shard, Set(recipients))
        // At least four must wait for the same one.
        for _ in 0..<4 { for recipient in recipients { shard.deliver(to: recipient) } }
        for _ in 0..<4 { shard.turn() }
        expect(shard.figures.inFlight, is: 256)
        expect(shard.ports.late, is: [])
    }
}
