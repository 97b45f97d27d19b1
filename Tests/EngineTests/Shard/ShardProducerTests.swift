import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("A shard's transactional producers, one after the other")
struct ShardProducerTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("After 20 producers in a row that stored nothing, a second passes before each of the next")
    func replacedSlowly() {
        let shard = Shard.transactional()
        shard.begin()
        func isReplaced(after time: Duration = .zero) -> Bool {
            shard.callsOfTurn(after: time).contains(.replaceProducer)
        }
        for _ in 0..<20 {
            shard.ports.hasProducerFailed = true
            expect(isReplaced(), is: true)
        }
        for _ in 0..<2 {
            shard.ports.hasProducerFailed = true
            expect(isReplaced(), is: false)
            expect(isReplaced(after: .milliseconds(999)), is: false)
            expect(isReplaced(after: .milliseconds(1)), is: true)
        }
    }

    @Test(
        "A producer that does not report all of its records is replaced, and its transaction is read again",
        arguments: [false, true])
    func silent(isLate: Bool) throws {
        let shard = Shard.counting {
            $0.isTransactional = true
            $0.reportPatience = .seconds(9)
        }
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.ports.reports = [OutputReport(tag: shard.ports.takeSent()[1].tag)]
        shard.turn(after: .milliseconds(20))
        // The output of the first and the count of the second are not reported.
        let changes = shard.ports.takeSentChanges()
        shard.ports.reports = [OutputReport(tag: try #require(changes.first).tag, offset: 0)]
        let late = try #require(changes.last).tag
        shard.turn(after: .seconds(8))
        #expect(!shard.callsOfTurn(after: .milliseconds(8_999)).contains(.replaceProducer))
        shard.ports.replaces = false
        var later = shard.callsOfTurn(after: .milliseconds(1))
        // What comes after all, before another producer could be made, is awaited no more.
        if isLate { shard.ports.reports = [OutputReport(tag: late)] }
        later += shard.callsOfTurn()
        shard.ports.replaces = true
        later += shard.callsOfTurn(after: .milliseconds(500)) + shard.callsOfTurn()
        expect(
            later.told.prefix(2),
            is: [
                .producerReplaced(reason: "it does not report all of its records"),
                .transactionAborted(reason: "its producer has failed"),
            ])
        #expect(later.contains(.replaceProducer) && later.contains(.transact(.initialize)))
        #expect(later.contains(.askCommitted([partition])))
        shard.ports.events = [.committed([Shard.commit(0)])]
        shard.ports.replica = [Shard.end(0)]
        for _ in 0..<2 { shard.turn() }
        shard.ports.messages = [0, 1].map { ScriptedPorts.Message(offset: $0) }
        expect(shard.published(), is: [0, 1])
        // The reports of these two are all that their transaction waits for.
        shard.acknowledge()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
    }
}
