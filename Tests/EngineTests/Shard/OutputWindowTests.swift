import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("How much a transaction may have unanswered")
struct OutputWindowTests {
    @Test("Half of what timed out is tried next, once for each transaction; twice as much after each that ended soon")
    func sizes() {
        let start = Instant(nanoseconds: 1_000_000_000)
        var window = OutputWindow(most: 1000)
        func size() -> Int { (0...).first { !window.hasRoom(beside: $0) } ?? -1 }
        #expect(window.hasRoom(beside: 1_000_000))
        window.transactionBegan()
        window.recordsTimedOut(600)
        window.recordsTimedOut(599)
        expect(size(), is: 300)
        window.transactionBegan()
        window.recordsTimedOut(900)
        expect(size(), is: 150)
        // Committed, but not soon.
        window.transactionClosed(now: start)
        window.transactionCommitted(now: start + .seconds(1))
        expect(size(), is: 150)
        window.transactionClosed(now: start)
        window.transactionCommitted(now: start + .milliseconds(999))
        expect(size(), is: 300)
        for _ in 0..<2 { window.transactionCommitted(now: start) }
        #expect(window.hasRoom(beside: 1_000_000))
    }

    @Test("The window never closes", arguments: [(1, 1), (10, 10), (1000, 16)])
    func least(most: Int, least: Int) {
        var window = OutputWindow(most: most)
        for _ in 0..<20 {
            window.transactionBegan()
            window.recordsTimedOut(0)
        }
        #expect(window.hasRoom(beside: least - 1))
        #expect(window.hasRoom(beside: least) == (most == least))
    }

    @Test("A shard whose outputs time out takes half as many for the next transaction, and more after a quick one")
    func shard() {
        let shard = ScriptedShard.transactional { $0.maxInFlight = 1000 }
        shard.begin()
        shard.deliver(100)
        expect(shard.published().count, is: 100)
        let sent = shard.ports.takeSent()
        shard.ports.reports = sent.map { OutputReport(tag: $0.tag, failure: .unavailable(reason: "late")) }
        for _ in 0..<3 { shard.turn(after: .milliseconds(20)) }
        shard.ports.messages = (0..<300).map { ScriptedPorts.Message(offset: $0) }
        expect(shard.published().count, is: 50)
        #expect(!shard.wantsRecords)
        shard.acknowledge()
        #expect(shard.callsOfTurn().contains(.transact(.commit)))
        expect(shard.published().count, is: 100)
    }
}
