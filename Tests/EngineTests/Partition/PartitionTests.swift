import PushmillKafka
import PushmillSimulation
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Partitions of a shard")
struct PartitionTests {
    private let now = Instant.past + .seconds(1)

    private func partition() -> Partition<SimulatedPorts> {
        Partition(TopicPartition("events", 3), topic: 0, now: now)
    }

    @Test("A newly assigned partition asks for its committed offset and has nothing to commit")
    func new() {
        let partition = partition()
        expect(partition.state, is: .asking(again: now))
        expect(partition.isServed, is: false)
        expect(partition.needsCommit, is: false)
    }

    @Test(
        "A read partition is served unless it asks for its offset, restores, or is gone",
        arguments: [
            (.running, true), (.seeking(4, again: .past), true), (.askingRange(again: .past), true),
            (.stalled(4), true), (.draining, true), (.asking(again: .past), false), (.restoring, false), (.gone, false),
        ] as [(Partition<SimulatedPorts>.State, Bool)])
    func served(state: Partition<SimulatedPorts>.State, isServed: Bool) {
        var partition = partition()
        partition.state = state
        expect(partition.isServed, is: false)
        partition.isHandedToConsumer = true
        partition.hasPosition = true
        expect(partition.isServed, is: isServed)
        // The partition asks again where it begins.
        partition.hasPosition = false
        if case .askingRange = state { expect(partition.isServed, is: false) }
    }

    @Test("A partition needs a commit if its ledger moved or the group lacks its start")
    func needsCommit() {
        var partition = partition()
        partition.state = .running
        partition.isHandedToConsumer = true
        expect(partition.needsCommit, is: false)
        _ = partition.ledger.take(0)
        expect(partition.needsCommit, is: false)
        _ = partition.ledger.complete(0)
        expect(partition.needsCommit, is: true)
        partition.ledger.committed(partition.ledger.snapshot())
        expect(partition.needsCommit, is: false)
        partition.mustCommit = true
        expect(partition.needsCommit, is: true)
        // Not before its counts are whole.
        partition.state = .restoring
        expect(partition.needsCommit, is: false)
    }

    @Test("A partition rewinds to its last commit and what was done beyond it then")
    func rewinds() {
        var partition = partition()
        for offset in Int64(0)..<6 { _ = partition.ledger.take(offset) }
        for offset in [0, 1, 3] as [Int64] { _ = partition.ledger.complete(offset) }
        partition.committed = partition.ledger.snapshot()
        for offset in [2, 4] as [Int64] { _ = partition.ledger.complete(offset) }
        partition.transactionStart = 1
        partition.gap = 9
        partition.rewind()
        expect(partition.ledger.position, is: 2)
        expect(partition.ledger.completedBeyond, is: [3..<4])
        expect(partition.ledger.inFlight, is: 0)
        expect(partition.isInTransaction, is: false)
        #expect(partition.gap == nil)
    }

    @Test("A table finds partitions by topic and number, and by the numbers that records carry")
    func finds() {
        var table = PartitionTable<SimulatedPorts>()
        let first = table.insert(TopicPartition("events", 2), topic: 0, now: now)
        let second = table.insert(TopicPartition("more", 2), topic: 1, now: now)
        expect(table.index(topic: 0, partition: 2), is: first)
        expect(table.index(topic: 1, partition: 2), is: second)
        expect(table.index(of: TopicPartition("more", 2)), is: second)
        expect(table.index(topic: 0, partition: 1), is: -1)
        expect(table.index(topic: 9, partition: 0), is: -1)
        expect(table.index(topic: 2, partition: 0), is: -1)
        expect(table.index(topic: 0, partition: 3), is: -1)
        expect(table.index(topic: 0, partition: -1), is: -1)
        #expect(table.index(of: TopicPartition("events", 1)) == nil)
    }

    @Test("The index of a removed partition is reused under a later epoch")
    func reuse() {
        var table = PartitionTable<SimulatedPorts>()
        let first = table.insert(TopicPartition("events", 0), topic: 0, now: now)
        let epoch = table[first].epoch
        table[first].unfinished = 4
        table.remove(first)
        expect(table.index(topic: 0, partition: 0), is: -1)
        #expect(table.index(of: TopicPartition("events", 0)) == nil)
        let second = table.insert(TopicPartition("events", 5), topic: 0, now: now)
        expect(second, is: first)
        #expect(table[second].epoch > epoch)
        expect(table[second].unfinished, is: 0)
        expect(table.index(topic: 0, partition: 5), is: second)
        expect(table.count, is: 1)
    }

    @Test("A table keeps its partitions as it grows")
    func grows() {
        var table = PartitionTable<SimulatedPorts>()
        for number in Int32(0)..<1_000 {
            let index = table.insert(TopicPartition("events", number), topic: 0, now: now)
            table[index].incarnation = UInt32(number)
        }
        let isKept = table.indices.allSatisfy { index in
            table[index].incarnation == UInt32(table[index].id.partition)
                && table.index(topic: 0, partition: table[index].id.partition) == index
        }
        #expect(isKept)
    }
}
