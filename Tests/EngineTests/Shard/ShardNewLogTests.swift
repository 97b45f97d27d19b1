import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Counts and recreated logs")
struct ShardNewLogTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("A recreated changelog is detected by the timestamp of the last known record")
    func otherChangelog() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        shard.count()
        shard.ports.events = [.revoked([partition])]
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        expect(disk.position, is: RecordPosition(partition: 0, offset: 0, timestamp: shard.ports.wallClock))
        shard.assign(at: 1)
        shard.ports.replica = [Shard.record(0, "bert", "2 0"), Shard.end(1)]
        #expect(shard.callsOfTurn().told.contains(.changelogAnew(partition: 0)))
    }

    @Test("A log that seems recreated is believed to be only once its counts are read again")
    func newLog() {
        let shard = Shard.counting { $0.reset = .earliest }
        // The log ends just before what was counted last.
        let highest = Shard.record(0, "anna", "5 10")
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        for isBelieved in [false, true] {
            shard.ports.events = [.committed([Shard.position(Position.none)])]
            #expect(shard.callsOfTurn().contains(.askRange(partition)))
            shard.ports.events = [.range(partition, 0..<10)]
            shard.ports.replica = [highest, Shard.end(1)]
            let calls = shard.callsOfTurn()
            if isBelieved {
                #expect(calls.contains(.publishChange(key: "", value: "0 0 1", timestamp: shard.ports.wallClock)))
            } else {
                #expect(calls.contains(.askCommitted([partition])))
            }
        }
        #expect(shard.acceptNewLog().contains(.read([Shard.position(0)])))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: false)))
    }

    @Test("Nothing of a recreated log is taken before the group has accepted its beginning")
    func acceptedFirst() {
        let shard = Shard.counting { $0.reset = .earliest }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        for _ in 0..<2 {
            shard.ports.events = [.committed([Shard.position(Position.none)])]
            shard.turn()
            shard.ports.events = [.range(partition, 0..<10)]
            shard.ports.replica = [Shard.record(0, "anna", "5 10"), Shard.end(1)]
            shard.turn()
        }
        shard.acknowledgeChanges()
        shard.turn()
        // The group has expelled this member, which does not know that yet.
        for _ in 0..<3 {
            let calls = shard.callsOfTurn(after: .seconds(5)) + shard.callsOfTurn(after: .milliseconds(20))
            #expect(!calls.contains(.read([Shard.position(0)])))
            shard.acceptCommit(.retry(.unanswered))
            shard.turn()
        }
        shard.turn(after: .seconds(5))
        shard.acceptCommit()
        #expect((shard.callsOfTurn() + shard.callsOfTurn()).contains(.read([Shard.position(0)])))
    }

    @Test("A recreated log keeps the highest incarnation that the changelog can express")
    func lastLog() {
        let shard = Shard.counting { $0.reset = .earliest }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        var calls: [ScriptedPorts.Call] = []
        for _ in 0..<2 {
            shard.ports.events = [.committed([Shard.position(Position.none)])]
            shard.turn()
            shard.ports.events = [.range(partition, 0..<10)]
            shard.ports.replica = [Shard.record(0, "anna", "5 10 4095"), Shard.end(1)]
            calls = shard.callsOfTurn()
        }
        #expect(calls.contains(.publishChange(key: "", value: "0 0 4095", timestamp: shard.ports.wallClock)))
        _ = shard.acceptNewLog()
        // A value that every reader would reject is never written.
        shard.deliver(12)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        expect(shard.ports.takeSentChanges().map(\.value), is: ["6 11 4095"])
    }

    @Test("Counts that end where the log does belong to that log")
    func sameLog() {
        let shard = Shard.counting { $0.reset = .earliest }
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<10)]
        shard.ports.replica = [Shard.record(0, "anna", "5 9"), Shard.end(1)]
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.read([Shard.position(0)])))
        #expect(!calls.contains { if case .publishChange = $0 { true } else { false } })
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: true)))
    }

    @Test("A shard that was away confirms without a partition whose new log is not announced yet")
    func awayWithNewLog() {
        let shard = Shard.counting()
        shard.begin(0..<2, at: 5)
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<3)]
        shard.turn()
        shard.confirm()
        expect(shard.callsOfTurn().told, is: [.confirmed, .logMadeAnew(partition, offset: 0)])
        expect(shard.committed(after: .seconds(23))?.map(\.partition), is: [Shard.partition(1)])
    }

    @Test("If the only log is a new one, the changelog is told before the group is asked")
    func awayWithOnlyNewLog() {
        let shard = Shard.counting()
        shard.begin(at: 5)
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<3)]
        shard.turn()
        shard.confirm()
        let calls = shard.callsOfTurn()
        expect(calls.told, is: [.confirmed, .logMadeAnew(partition, offset: 0)])
        #expect(calls.contains { if case .publishChange = $0 { true } else { false } })
        #expect(shard.committed(after: .seconds(23)) == nil)
        shard.acknowledgeChanges()
        shard.turn()
        expect(shard.committed(after: .milliseconds(1500))?.map(\.offset), is: [0])
    }

    @Test("A revoked partition with a failing disk commits nothing of an unannounced new log")
    func goneWithNewLog() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        shard.count()
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<0)]
        shard.turn()
        shard.confirm()
        expect(shard.callsOfTurn().told, is: [.confirmed, .logMadeAnew(partition, offset: 0)])
        disk.isFailing = true
        shard.ports.events = [.revoked([partition])]
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn(after: .seconds(10)) }
        #expect(calls.contains(.giveBack([partition])))
        #expect(!calls.contains { if case .commit = $0 { true } else { false } })
    }
}
