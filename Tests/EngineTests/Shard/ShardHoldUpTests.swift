import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Messages that brokers hold up")
struct ShardHoldUpTests {
    private typealias Shard = ScriptedShard

    @Test("Time behind a stage counts for a message's deadline, and time behind brokers does not")
    func outage() {
        let shard = Shard.transactional()
        shard.begin()
        shard.suspend([0])
        shard.deliver(2)
        shard.deliver(to: "bert")
        expect(shard.published(), is: [2])
        // The transaction is due to end, but its output is not stored.
        shard.turn(after: .milliseconds(20))
        for _ in 0..<20 { shard.turn(after: .seconds(1)) }
        shard.acknowledge()
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect((0..<3).flatMap { _ in shard.published() }, is: [0, 1])
        expect(shard.ports.waited[2], is: 0)
        expect(shard.ports.waited[1].map { $0 <= 2_000_000_000 }, is: true)
    }

    @Test("A slow step of a transaction does not make messages behind a stage late")
    func blockingStep() {
        let shard = Shard.transactional()
        shard.begin()
        shard.suspend([0])
        shard.deliver(2)
        shard.deliver(to: "bert")
        expect(shard.published(), is: [2])
        shard.acknowledge()
        shard.ports.transaction = { [unowned ports = shard.ports] step in
            if case .addOffsets = step { ports.now = ports.now + .seconds(40) }
            return .done
        }
        expect(shard.callsOfTurn(after: .milliseconds(20)).suffix(2), is: [.transact(.commit), .transact(.begin)])
        shard.ports.stageResults = shard.ports.suspendedEntries
        expect(shard.published(), is: [0, 1])
        expect(shard.ports.waited[1].map { $0 <= 2_000_000_000 }, is: true)
    }

    @Test("Messages behind a dead letter whose topic is unavailable are never late")
    func behindLetter() {
        let shard = Shard.transactional()
        shard.begin()
        shard.ports.chain = { message, _ in .ended(message.offset == 0 ? .deadLetters : .output) }
        shard.ports.publishing = { $0.isLetter ? .later : .queued }
        shard.deliver(2)
        expect(shard.published(), is: [0])
        for _ in 0..<20 { shard.turn(after: .seconds(1)) }
        shard.deliver()
        for _ in 0..<20 { shard.turn(after: .seconds(1)) }
        shard.ports.publishing = { _ in .queued }
        expect(shard.published(after: .milliseconds(5)), is: [0, 1, 2])
        expect(shard.ports.waited, is: [0: 0, 1: 0, 2: 0])
    }
}
