import PushmillKafka
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Gaps and known records in a shard's log")
struct ShardGapTests {
    private typealias Shard = ScriptedShard

    @Test("Offsets that are known to be done behind a gap are committed")
    func knownBehindGap() {
        let shard = Shard()
        let metadata = OffsetMetadata(base: 0, completed: [5..<6]).encoded().text
        shard.ports.events = [.assigned([Shard.partition()])]
        shard.turn()
        shard.ports.events = [.committed([Position(Shard.partition(), offset: 0, metadata: metadata)])]
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 5)]
        shard.turn()
        shard.ports.messages = [ScriptedPorts.Message(offset: 5)]
        expect(shard.committed()?.map(\.offset), is: [6])
    }

    @Test("A gap after a rebalance is checked with another seek")
    func gapAfterRebalance() {
        let shard = Shard()
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.ports.events = [.assigned([])]
        #expect(shard.callsOfTurn().contains(.seek(Shard.position(1))))
        shard.ports.messages = [ScriptedPorts.Message(offset: 5)]
        #expect(shard.callsOfTurn().contains(.seek(Shard.position(1))))
    }

    @Test(
        "Records that were skipped before a seek are no gap if later ones still come",
        arguments: [[9, 0, 5], [9, 0]] as [[Int64]])
    func skippedIsThere(skipped: [Int64]) {
        let shard = Shard()
        shard.begin()
        shard.ports.messages = skipped.map { ScriptedPorts.Message(offset: $0) }
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        // Fetched before the second seek, too.
        shard.ports.messages = [ScriptedPorts.Message(offset: 9)]
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        shard.ports.messages = [0, 5, 9].map { ScriptedPorts.Message(offset: $0) }
        expect(shard.published(), is: [0, 5, 9])
    }

    @Test("A gap after a possible loss is checked with a seek, and then believed")
    func gap() {
        let shard = Shard()
        shard.begin()
        shard.ports.messages = [ScriptedPorts.Message(offset: 5)]
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        expect(shard.ports.released, is: [5])
        // Another record comes: it may not be the next one either.
        shard.ports.messages = [ScriptedPorts.Message(offset: 7)]
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(0))])
        shard.ports.messages = [ScriptedPorts.Message(offset: 7), ScriptedPorts.Message(offset: 9)]
        // Nothing that may lose records happened after 7.
        expect(shard.published(), is: [7, 9])
    }

    @Test("The missing record ends the doubt about a gap, and an earlier one does not")
    func gapClosed() {
        let shard = Shard()
        shard.begin(at: 10)
        shard.ports.messages = [ScriptedPorts.Message(offset: 9), ScriptedPorts.Message(offset: 12)]
        expect(shard.callsOfTurn(), is: [.seek(Shard.position(10))])
        shard.ports.messages = [ScriptedPorts.Message(offset: 10), ScriptedPorts.Message(offset: 13)]
        expect(shard.published(), is: [10, 13])
        expect(shard.ports.released, is: [9, 12, 10, 13])
    }

    @Test("Records that were taken already, or are known to be done, are skipped")
    func known() {
        let shard = Shard()
        let metadata = OffsetMetadata(base: 0, completed: [1..<2]).encoded().text
        shard.ports.events = [.assigned([Shard.partition()])]
        shard.turn()
        shard.ports.events = [.committed([Position(Shard.partition(), offset: 0, metadata: metadata)])]
        shard.turn()
        shard.ports.messages = [0, 1, 2, 1, 2].map { ScriptedPorts.Message(offset: $0) }
        expect(shard.published(), is: [0, 2])
        expect(shard.ports.released, is: [1, 1, 2, 0, 2])
        shard.acknowledge()
        expect(shard.committed()?.map(\.offset), is: [3])
    }
}
