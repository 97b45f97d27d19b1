import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("A shard's transactional producers, one after the other")
struct ShardProducerTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    private func pauses(_ shard: Shard, _ count: Int) -> [Int] {
        (0..<count).map { _ in
            shard.ports.hasProducerFailed = true
            var calls = shard.callsOfTurn()
            for pause in [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000] {
                if calls.contains(.replaceProducer) { return pause }
                let next = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000].first { $0 > pause } ?? pause
                calls = shard.callsOfTurn(after: .milliseconds(next - pause - 1))
                if calls.contains(.replaceProducer) { return -1 }
                calls = shard.callsOfTurn(after: .milliseconds(1))
            }
            return -1
        }
    }

    @Test("Producers in a row that commit nothing are replaced after longer and longer pauses, up to ten seconds")
    func replacedSlowly() {
        let shard = Shard.transactional()
        shard.begin()
        expect(pauses(shard, 9), is: [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    }

    @Test("At least once, where each refused record fails a producer, the first 20 in a row are replaced at once")
    func replacedQuickly() {
        let shard = Shard()
        shard.begin()
        expect(pauses(shard, 22), is: Array(repeating: 0, count: 20) + [250, 500])
        shard.deliver()
        shard.turn()
        shard.turn(after: .seconds(1))
        shard.acknowledge()
        shard.turn()
        expect(pauses(shard, 2), is: [0, 0])
    }

    @Test(
        "A rebalance or a shutdown does not wait for the pause",
        arguments: [.revoked([ScriptedShard.partition()]), .assigned([ScriptedShard.partition(1)]), nil]
            as [ConsumerEvent?])
    func hurried(by event: ConsumerEvent?) {
        let shard = Shard.transactional()
        shard.begin()
        _ = pauses(shard, 5)
        shard.ports.hasProducerFailed = true
        shard.ports.events = [.assigned([])]
        #expect(!shard.callsOfTurn().contains(.replaceProducer))
        if let event { shard.ports.events = [event] } else { shard.ports.terminations = 1 }
        #expect(shard.callsOfTurn().contains(.replaceProducer))
    }

    @Test(
        "Two producers that take each other's ID calm down, though both commit; one that works for long starts over",
        arguments: [(1, 400, [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]), (4, 2_000, [0, 0, 0, 0])])
    func fenced(worksFor pauses: Int, and milliseconds: Int, expected: [Int]) {
        var replacements = Replacements(isTransactional: true)
        var now = Instant.past + .seconds(100)
        let seen = expected.map { _ in
            let due = replacements.next(now)
            let pause = due.nanoseconds(since: now)
            replacements.producerWorked()
            now = due + .nanoseconds(Int64(pause)) * pauses + .milliseconds(milliseconds)
            return Int(pause / 1_000_000)
        }
        expect(seen, is: expected)
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
        shard.ports.replica = [Shard.end(2)]
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
