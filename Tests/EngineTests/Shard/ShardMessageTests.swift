import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Messages in a shard")
struct ShardMessageTests {
    private typealias Shard = ScriptedShard

    private static func result(_ destination: Verdict.Destination = .output) -> ChainStep {
        .ended(destination)
    }

    @Test("A message is published in its turn, released, and committed once its output is stored")
    func whole() {
        let shard = Shard()
        shard.begin()
        #expect(shard.wantsRecords)
        shard.deliver(3)
        expect(
            shard.callsOfTurn(),
            is: (Int64(0)..<3).flatMap { offset -> [ScriptedPorts.Call] in
                [
                    .begin(offset: offset, count: nil, isCounted: false),
                    .publish(ScriptedPorts.Output(partition: 0, offset: offset)),
                ]
            })
        expect(shard.ports.released, is: [0, 1, 2])
        expect(shard.figures.inFlight, is: 3)
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [3])
        expect(shard.figures.inFlight, is: 0)
        shard.acceptCommit()
        #expect(shard.committed() == nil)
        // The next turn comes before the group might take the shard for dead.
        expect(shard.turn(), is: shard.ports.now + .seconds(45) / 4)
    }

    @Test("A message of a partition that is not read is released")
    func foreign() {
        let shard = Shard()
        shard.begin()
        shard.deliver(1, of: 7)
        expect(shard.callsOfTurn(), is: [])
        expect(shard.ports.released, is: [0])
    }

    @Test("A message that goes nowhere is done without an output")
    func nowhere() {
        let shard = Shard()
        shard.begin()
        shard.ports.chain = { _, _ in Self.result(.nowhere) }
        shard.deliver()
        expect(shard.committed()?.map(\.offset), is: [1])
        expect(shard.ports.released, is: [0])
    }

    @Test("A shard respects its limit in flight, and messages count until they are committed")
    func room() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.deliver(3)
        expect(shard.published(), is: [0, 1])
        #expect(!shard.wantsRecords)
        #expect(!shard.figures.hasRoom)
        // The shard turns only for the group or a changelog.
        expect(shard.turn(), is: shard.ports.now + .seconds(45) / 4)
        shard.acknowledge()
        expect(shard.published(), is: [])
        #expect(!shard.figures.hasRoom)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(250))
        shard.acceptCommit()
        expect(shard.published(), is: [2])
        #expect(shard.wantsRecords)
    }

    @Test("At most 1,200 messages are published and not committed, besides those that wait")
    func exposed() {
        let shard = Shard { $0.maxInFlight = 5000 }
        shard.begin()
        shard.suspend([0])
        shard.deliver(3)
        shard.deliver(1300, to: "bert")
        let published = (0..<8).reduce(0) { count, _ in count + shard.published().count }
        expect(published, is: 1200)
        #expect(!shard.wantsRecords)
        shard.acknowledge()
        expect(shard.published(), is: [])
        shard.acceptCommit()
        expect(shard.published(), is: Array(1203..<1303))
    }

    @Test("A full shard takes messages again once half of its room is free")
    func half() {
        let shard = Shard { $0.maxInFlight = 4 }
        shard.begin()
        shard.deliver(9)
        expect(shard.published(), is: [0, 1, 2, 3])
        let tags = shard.ports.takeSent().map(\.tag)
        shard.ports.reports.append(OutputReport(tag: tags[0]))
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.acceptCommit()
        expect(shard.published(), is: [])
        for tag in tags[1...2] { shard.ports.reports.append(OutputReport(tag: tag)) }
        expect(shard.committed()?.map(\.offset), is: [3])
        shard.acceptCommit()
        expect(shard.published(), is: [4, 5, 6])
    }

    @Test("Outputs are flushed once the shard is full")
    func flush() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.deliver()
        #expect(!shard.callsOfTurn().contains(.flush))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.flush))
        #expect(!shard.callsOfTurn().contains(.flush))
    }

    @Test("A group that accepts no commit holds up messages for a second")
    func commitsFail() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.deliver(3)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit(.retry(.unanswered))
        shard.turn()
        expect(shard.published(), is: [])
        expect(shard.published(after: .seconds(1)), is: [])
        expect(shard.published(after: .milliseconds(1)), is: [2])
    }

    @Test("A group that does not answer a commit holds up messages for a second")
    func commitsHang() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.deliver(3)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        expect(shard.turn(), is: shard.ports.now + .milliseconds(250))
        expect(shard.published(after: .seconds(1)), is: [])
        expect(shard.published(after: .milliseconds(1)), is: [2])
    }

    @Test("A shard takes no more messages than its limit in bytes allows")
    func roomInBytes() {
        let shard = Shard { $0.maxInFlightBytes = 200 }
        shard.begin()
        shard.deliver(3)
        expect(shard.published(), is: [0, 1])
        #expect(!shard.wantsRecords)
        shard.acknowledge()
        expect(shard.published(), is: [2])
        #expect(shard.wantsRecords)
    }

    @Test("The bytes of a message that waits for its key include its headers")
    func waitingBytes() {
        let shard = Shard { $0.maxInFlightBytes = 1000 }
        shard.begin()
        shard.suspend([0])
        for offset in Int64(0)...1 {
            shard.ports.messages.append(ScriptedPorts.Message(offset: offset, headerByteCount: 700))
        }
        shard.turn()
        // The first one has begun.
        expect(shard.figures.inFlightBytes, is: 100 + 100 + 700)
    }

    @Test("The bytes of a suspended message include what is kept for its stage")
    func suspendedBytes() {
        let shard = Shard { $0.maxInFlightBytes = 1000 }
        shard.ports.bytesOfSuspended = 899
        shard.begin()
        shard.suspend([0, 1])
        shard.deliver()
        shard.turn()
        #expect(shard.figures.inFlightBytes == 999 && shard.wantsRecords)
        shard.deliver(to: "bert")
        shard.turn()
        #expect(shard.figures.inFlightBytes == 1998 && !shard.wantsRecords)
        expect(shard.published(after: .seconds(1)), is: [0, 1])
        shard.acknowledge()
        shard.turn()
        #expect(shard.figures.inFlightBytes == 0 && shard.wantsRecords)
    }

    @Test("A message that is larger than the limit runs alone")
    func large() {
        let shard = Shard { $0.maxInFlightBytes = 50 }
        shard.begin()
        shard.deliver(2)
        expect(shard.published(), is: [0])
        shard.acknowledge()
        expect(shard.published(), is: [1])
    }

    @Test("A turn takes at most 256 messages")
    func batches() {
        let shard = Shard { $0.maxInFlight = 1000 }
        shard.begin()
        shard.deliver(300)
        expect(shard.published(), is: Array(0..<256))
        expect(shard.published(), is: Array(256..<300))
    }

    @Test(
        "While a message is suspended, those behind it in its order wait",
        arguments: [(.key, [2]), (.partition, []), (.none, [1, 2])] as [(ShardSettings.Ordering, [Int64])])
    func order(ordering: ShardSettings.Ordering, free: [Int64]) {
        let shard = Shard { $0.ordering = ordering }
        shard.begin(0..<2)
        shard.suspend([0])
        shard.deliver(2)
        shard.deliver(to: "bert")
        expect(shard.published(), is: free)
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [0] + (0..<3).filter { $0 > 0 && !free.contains($0) })
    }

    @Test("A message without a recipient waits for no other, and none waits for it")
    func nobody() {
        let shard = Shard()
        shard.begin(0..<2)
        shard.suspend([0])
        shard.deliver(3, to: "")
        shard.deliver(1, of: 1, to: "")
        expect(shard.published(), is: [1, 2])
        expect(shard.ports.suspendedEntries.count, is: 2)
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [0, 0])
    }

    @Test("A message that waits for its key is copied, and one that runs at once is not")
    func ownMemory() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0])
        shard.deliver(3)
        shard.deliver(to: "bert")
        expect(shard.published(), is: [3])
        expect(shard.ports.owned, is: [1, 2])
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [0, 1, 2])
        expect(shard.ports.released, is: [0, 3, 1, 2])
    }

    @Test("Each partition has its own order")
    func partitionsApart() {
        let shard = Shard { $0.ordering = .partition }
        shard.begin(0..<2)
        shard.ports.chain = { message, now in
            message.partition == 0 ? .suspended(until: now + .seconds(1)) : Self.result()
        }
        shard.deliver(2)
        shard.deliver(2, of: 1)
        expect(shard.published(), is: [0, 1])
        expect(shard.ports.suspendedEntries.count, is: 1)
    }

    @Test("Suspended messages continue when their stages have ended, even in a full shard")
    func stagesEnd() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.suspend([0, 1])
        shard.deliver(to: "anna")
        shard.deliver(to: "bert")
        expect(shard.published(), is: [])
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published().sorted(), is: [0, 1])
    }

    @Test("The shard wakes up to abandon a stage at its deadline, and not before")
    func wakeUp() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0, 1])
        shard.deliver(to: "anna")
        shard.deliver(to: "bert")
        let end = shard.ports.now + .seconds(1)
        expect(shard.turn(), is: end)
        expect(shard.ports.released, is: [0, 1])
        expect(shard.published(after: .milliseconds(999)), is: [])
        expect(shard.turn(), is: end)
        expect(shard.published(after: .milliseconds(1)), is: [0, 1])
    }

    @Test("A stage's result for an ended entry, or for none, is ignored")
    func lateResults() throws {
        let shard = Shard()
        shard.begin()
        shard.suspend([0])
        shard.deliver()
        shard.turn()
        let entry = try #require(shard.ports.suspendedEntries.first)
        shard.ports.stageResults = [0, 17, 1 << 40, entry]
        expect(shard.published(), is: [0])
        shard.ports.stageResults = [entry]
        expect(shard.published(), is: [])
        shard.acknowledge()
        shard.turn()
        // Another message has the number.
        shard.deliver()
        shard.turn()
        shard.ports.stageResults = [entry]
        expect(shard.published(), is: [])
    }

    @Test("As many messages wait for stages as may be in flight")
    func suspendedRoom() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin()
        shard.suspend([0, 1, 2])
        for recipient in ["anna", "bert", "carl"] { shard.deliver(to: recipient) }
        shard.turn()
        expect(shard.ports.suspendedEntries.count, is: 2)
        #expect(!shard.wantsRecords)
        // Messages that wait only for their stages cause no earlier turn.
        expect(shard.turn(), is: shard.ports.now + .seconds(1))
    }

    @Test("What a message needs is prepared with its batch and, once, a few messages before its turn")
    func prepared() {
        let shard = Shard { $0.maxInFlight = 64 }
        shard.begin()
        var isEarly = true
        shard.ports.chain = { [unowned ports = shard.ports] message, _ in
            isEarly = isEarly && ports.prepared.count == 20 && ports.preparedNear.contains(min(19, message.offset + 8))
            return Self.result()
        }
        shard.deliver(20)
        shard.turn()
        expect(shard.ports.prepared, is: Array(0..<20))
        expect(shard.ports.preparedNear, is: Array(0..<20))
        #expect(isEarly)
    }

    @Test("A message that its stage drops lets the next one of its key run")
    func nothingOfStage() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0])
        shard.ports.stageResult = .ended(.nowhere)
        shard.deliver(2)
        expect(shard.published(), is: [])
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [1])
        expect(shard.ports.released, is: [0, 1])
    }

    @Test("A stage that has ended is not abandoned later, and its result is taken once")
    func resultOnce() {
        let shard = Shard()
        shard.begin()
        shard.suspend([0, 1])
        shard.deliver()
        shard.turn()
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [0])
        shard.acknowledge()
        let calls = shard.callsOfTurn(after: .seconds(1))
        #expect(!calls.contains { if case .wakeUp = $0 { true } else { false } })
        // The next message has the entry that the first one had.
        shard.deliver()
        shard.turn()
        expect(shard.published(), is: [])
    }
}
