import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Counts in transactions of a shard")
struct ShardTransactionCountTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("Counts go into their transaction even if they have not waited for each other yet")
    func countsAtEnd() {
        let shard = Shard.transactional {
            $0.counts = true
            $0.maxInFlight = 1_000
        }
        shard.ports.chain = { _, _ in .ended(.output, .add(1)) }
        shard.begin()
        shard.turn(after: .milliseconds(10))
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        let change = ScriptedPorts.Call.publishChange(key: "anna", value: "1 0", timestamp: shard.ports.wallClock)
        expect(shard.callsOfTurn(after: .milliseconds(10)), is: [change, .flush])
    }

    @Test("A count that is not stored aborts the transaction")
    func countFails() {
        let shard = Shard.transactional { $0.counts = true }
        shard.ports.chain = { _, _ in .ended(.output, .add(1)) }
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        for change in shard.ports.takeSentChanges() {
            shard.ports.reports.append(OutputReport(tag: change.tag, failure: .unavailable(reason: "away")))
        }
        let calls = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.transact(.abort)))
    }

    /// A shard that has rewritten a stale count in the open transaction, for a partition that waits for something else.
    private func rewriting() -> ScriptedShard {
        let shard = Shard.transactional { $0.counts = true }
        shard.ports.isPrepared = false
        shard.assign()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.record(1, "anna", "4 2"), Shard.end(2)]
        shard.turn()
        return shard
    }

    private func rewrites(_ calls: [ScriptedPorts.Call]) -> Int {
        calls.count { if case .publishChange(key: "anna", value: "5 3", _) = $0 { true } else { false } }
    }

    @Test("A rewritten count is committed even if nothing else is")
    func rewriteAlone() {
        let shard = rewriting()
        shard.acknowledgeChanges(at: 2)
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        #expect(calls.contains(.transact(.commit)))
        expect(rewrites(calls), is: 0)
    }

    @Test("A rewritten count is published again if its transaction fails", arguments: [false, true])
    func rewriteAgain(isProducerLost: Bool) {
        let shard = rewriting()
        for change in shard.ports.takeSentChanges() {
            shard.ports.reports.append(OutputReport(tag: change.tag, failure: .unavailable(reason: "away")))
        }
        shard.ports.hasProducerFailed = isProducerLost
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(isProducerLost ? .replaceProducer : .transact(.abort)))
        expect(rewrites(calls), is: 1)
        shard.acknowledgeChanges(at: 9)
        let ending = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        #expect(ending.contains(.transact(.commit)))
    }

    @Test("Committed counts stay in memory when the producer fails: the changelog may have lost them")
    func keptCounts() {
        let shard = Shard.counting { $0.isTransactional = true }
        shard.begin()
        shard.count()
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
        // The second count is not committed.
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.ports.hasProducerFailed = true
        #expect(shard.callsOfTurn().contains(.replaceProducer))
        shard.ports.events = [.committed([Shard.commit(1)])]
        for told in [[ShardNews.changelogAnew(partition: 0)], []] {
            shard.ports.replica = [Shard.end(0)]
            let calls = shard.callsOfTurn() + shard.callsOfTurn()
            expect(calls.told.filter { $0 == .changelogAnew(partition: 0) }, is: told)
            #expect(calls.contains(.replicate([RecordPosition(partition: 0, offset: Position.beginning)])))
        }
        shard.ports.messages = [ScriptedPorts.Message(offset: 1)]
        #expect(shard.callsOfTurn().contains(.begin(offset: 1, count: 1, isCounted: false)))
    }

    @Test("Counts stay with their owner if the changelog was recreated when the producer has failed")
    func recreated() throws {
        let shard = Shard.counting { $0.isTransactional = true }
        shard.begin()
        shard.count(["anna", "anna"])
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
        shard.turn(after: .seconds(10))
        expect(shard.ports.disks[partition]?.rows.values.map(\.count), is: [2])
        shard.ports.hasProducerFailed = true
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(2)])]
        shard.turn()
        shard.ports.replica = [Shard.end(0)]
        expect(shard.callsOfTurn().told, is: [.changelogAnew(partition: 0)])
        shard.ports.replica = [Shard.end(0)]
        for _ in 0..<2 { shard.turn() }
        shard.ports.messages = [ScriptedPorts.Message(offset: 2)]
        #expect(shard.callsOfTurn().contains(.begin(offset: 2, count: 2, isCounted: false)))
    }

    @Test("What a cut changelog lacks is not forgotten with a producer that fails before it has written that")
    func cutTwice() throws {
        let shard = Shard.counting { $0.isTransactional = true }
        shard.begin()
        shard.count(["anna", "anna"])
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
        shard.turn(after: .seconds(10))
        let known = try #require(shard.ports.disks[partition]?.position)
        for isKnown in [false, true] {
            shard.ports.hasProducerFailed = true
            shard.turn()
            // The records of the first transaction that was to write it again are there, but aborted.
            shard.ports.reports = shard.ports.takeSentChanges().map { OutputReport(tag: $0.tag, failure: .purged) }
            shard.turn(after: .milliseconds(20))
            shard.turn(after: .seconds(10))
            shard.ports.events = [.committed([Shard.commit(2)])]
            let start = RecordPosition(partition: 0, offset: isKnown ? Position.beginning : known.offset)
            #expect(shard.callsOfTurn().contains(.replicate([start])))
            if !isKnown {
                shard.ports.replica = [Shard.end(1)]
                expect(shard.callsOfTurn().told, is: [.changelogAnew(partition: 0)])
            }
            shard.ports.replica = [Shard.record(0, "anna", "1 0"), Shard.end(9)]
            let calls = (0..<3).flatMap { _ in shard.callsOfTurn() }
            #expect(calls.contains(.publishChange(key: "anna", value: "2 1", timestamp: shard.ports.wallClock)))
        }
    }

    @Test("A lost partition with only a count in the open transaction aborts the transaction")
    func lostWithCount() {
        let shard = rewriting()
        shard.acknowledgeChanges(at: 2)
        shard.turn()
        shard.ports.events = [.lost([partition])]
        let calls = (0..<2).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.transact(.abort)))
    }

    @Test("Badge counts are committed with the outputs, and roll back with an aborted transaction")
    func counts() {
        let shard = Shard.transactional {
            $0.counts = true
            $0.maxInFlight = 1000
        }
        shard.ports.chain = { _, _ in .ended(.output, .add(1)) }
        shard.begin()
        shard.deliver(2)
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.begin(offset: 1, count: 1, isCounted: false)))
        shard.fail(.unavailable(reason: "away"))
        for _ in 0..<3 { shard.turn() }
        shard.ports.messages = [ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1)]
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 0, isCounted: false)))
        shard.acknowledge()
        let closing = shard.callsOfTurn(after: .milliseconds(20))
        #expect(closing.contains(.publishChange(key: "anna", value: "2 1", timestamp: shard.ports.wallClock)))
        #expect(!closing.contains(.transact(.commit)))
        shard.acknowledgeChanges(at: 4)
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
        shard.turn(after: .seconds(10))
        expect(shard.ports.disks[partition]?.rows.values.map(\.count), is: [2])
        // The group has accepted the offsets: the changelog is known up to there.
        expect(shard.ports.disks[partition]?.position?.offset, is: 5)
    }
}
