import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Recreated logs that are longer than what was counted: detected by the record at the mark")
struct ShardLogMarkTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    /// The changelog has a count of 5 for anna, up to offset 7 of a log whose record at 7 has the timestamp 1000.
    private static var counted: [ScriptedShard.ReplicaEntry] {
        [
            Shard.record(0, "anna", "5 7"), (event: nobody(at: 1), key: [0, 0, 0, 0], value: Array("1000 7".utf8)),
            Shard.end(2),
        ]
    }

    private static func nobody(at offset: Int64) -> ChangelogEvent {
        .record(partition: 0, offset: offset, timestamp: 500, key: nil, value: nil)
    }

    /// Turns until the shard has to find out which log it is.
    private static func asked(
        _ committed: Position = Shard.position(Position.none), _ range: Range<Int64> = 0..<10,
        changelog: [Shard.ReplicaEntry] = counted, _ change: (inout ShardSettings) -> Void = { _ in }
    ) -> (shard: ScriptedShard, calls: [Shard.Call]) {
        let shard = Shard.counting {
            $0.reset = .earliest
            change(&$0)
        }
        shard.ports.events = [.assigned([Shard.partition()])]
        shard.turn()
        shard.ports.events = [.committed([committed])]
        shard.turn()
        shard.ports.events = [.range(Shard.partition(), range)]
        shard.ports.replica = changelog
        return (shard, shard.callsOfTurn())
    }

    @Test("Every few seconds the record that was counted last is marked in the changelog")
    func marked() {
        let shard = Shard.counting()
        shard.begin()
        shard.count()
        shard.turn()
        #expect(shard.ports.takeSentChanges().isEmpty)
        shard.turn(after: .seconds(5))
        for isMarked in [true, false] {
            shard.count()
            shard.turn()
            shard.turn(after: .milliseconds(20))
            let marks = shard.ports.takeSentChanges().map { "\($0.key) \($0.value)" }
            expect(marks, is: (isMarked ? [" 1000 1"] : []))
        }
    }

    @Test("A mark that is replaced becomes the next older one when that is too old: by a minute, an hour, a day")
    func older() {
        let shard = Shard.counting()
        shard.begin()
        let steps: [(timestamp: Int64, marks: [String])] = [
            (1_000, [" 1000 0"]), (2_000, ["minute 1000 0", " 2000 1"]), (61_999, [" 61999 2"]),
            (70_000, ["minute 61999 2", "hour 1000 0", " 70000 3"]), (3_700_000, [" 3700000 4"]),
            (3_700_001, ["minute 3700000 4", " 3700001 5"]), (3_800_000, [" 3800000 6"]),
            (3_800_001, ["minute 3800000 6", "hour 3700000 4", "day 1000 0", " 3800001 7"]),
        ]
        for (offset, step) in steps.enumerated() {
            shard.turn(after: .seconds(5))
            shard.ports.messages = [
                ScriptedPorts.Message(offset: Int64(offset), timestamp: step.timestamp, recipient: "anna")
            ]
            shard.turn()
            shard.acknowledge()
            shard.turn()
            shard.turn(after: .milliseconds(20))
            shard.acknowledgeChanges()
            shard.turn()
            shard.turn(after: .milliseconds(20))
            expect(shard.ports.sentChanges.map { "\($0.key) \($0.value)" }, is: step.marks)
            shard.acknowledgeChanges()
            shard.turn()
        }
    }

    @Test("With transactions, a mark is part of the next transaction")
    func markedInTransaction() {
        let shard = Shard.counting { $0.isTransactional = true }
        shard.begin()
        shard.turn(after: .seconds(5))
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn(after: .milliseconds(100))
        shard.acknowledgeChanges()
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.transact(.commit)))
        let next = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(100)) }
        #expect(next.contains(.publishChange(key: "", value: "1000 0", timestamp: shard.ports.wallClock)))
        shard.acknowledgeChanges()
        #expect((0..<3).flatMap { _ in shard.callsOfTurn() }.contains(.transact(.commit)))
    }

    @Test("Only a record that was counted at the highest offset of all becomes a mark", arguments: [false, true])
    func onlyHighest(isHighest: Bool) {
        let shard = Shard.counting()
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(isHighest ? 8 : 5)])]
        shard.ports.replica = Self.counted
        for _ in 0..<2 { shard.turn() }
        shard.turn(after: .seconds(5))
        let offset: Int64 = isHighest ? 8 : 6
        shard.ports.messages = [ScriptedPorts.Message(partition: 0, offset: offset, recipient: "bert")]
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        expect(shard.ports.takeSentChanges().map(\.value), is: (isHighest ? ["1000 7", "1000 8"] : []))
    }

    @Test("Another record at the mark means another log: counts stay, and its events count")
    func another() {
        let (shard, calls) = Self.asked()
        #expect(calls.contains(.read([Shard.position(7)])))
        #expect(shard.committed(after: .seconds(1)) == nil)
        shard.ports.messages = [ScriptedPorts.Message(offset: 7, timestamp: 2_000)]
        let compared = shard.callsOfTurn()
        #expect(compared.told.contains(.logMadeAnew(partition, offset: 0)))
        #expect(compared.contains(.publishChange(key: "", value: "0 0 1", timestamp: shard.ports.wallClock)))
        expect(shard.ports.released, is: [7])
        #expect(compared.contains(.seek(Shard.position(0))))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: false)))
    }

    @Test("The same record at the mark, or none, means the same log", arguments: [7, 8] as [Int64])
    func same(offset: Int64) {
        let (shard, _) = Self.asked()
        shard.ports.messages = [ScriptedPorts.Message(offset: offset, timestamp: offset == 7 ? 1_000 : 2_000)]
        let compared = shard.callsOfTurn()
        expect(compared.told, is: [.reading([partition])])
        #expect(compared.contains(.seek(Shard.position(0))))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: true)))
    }

    @Test("With a foreign commit the log is compared as well, and begins at that offset")
    func foreign() {
        let (shard, calls) = Self.asked(Shard.position(3))
        #expect(calls.contains(.read([Shard.position(7)])))
        shard.ports.messages = [ScriptedPorts.Message(offset: 7, timestamp: 2_000)]
        let compared = shard.callsOfTurn()
        #expect(compared.told.contains(.logMadeAnew(partition, offset: 3)))
        #expect(compared.contains(.seek(Shard.position(3))))
    }

    @Test(
        "If a foreign commit is beyond the log's end, the record at the mark identifies the log",
        arguments: [false, true])
    func beyondEnd(isAnother: Bool) {
        let (shard, calls) = Self.asked(Shard.position(20)) { $0.isTransactional = true }
        #expect(calls.contains(.read([Shard.position(20)])))
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<10)]
        shard.ports.replica = Self.counted
        let asked = (0..<3).flatMap { _ in shard.callsOfTurn() }
        #expect(asked.told.contains(.logMadeAnew(partition, offset: 0)))
        #expect(asked.contains(.read([Shard.position(7)])))
        shard.ports.messages = [ScriptedPorts.Message(offset: 7, timestamp: isAnother ? 2_000 : 1_000)]
        let compared = (0..<3).flatMap { _ in shard.callsOfTurn() }
        #expect(compared.contains(.seek(Shard.position(0))))
        shard.deliver()
        let begun = (0..<3).flatMap { _ in shard.callsOfTurn() }
        #expect(begun.contains(.begin(offset: 0, count: 5, isCounted: !isAnother)))
    }

    @Test("A log is not compared if reading begins behind the mark, or if there is none", arguments: [0, 1, 2])
    func notCompared(way: Int) {
        let unmarked = [Shard.record(0, "anna", "5 7"), Shard.end(1)]
        let (_, calls) =
            switch way {
            case 0: Self.asked(Shard.position(8))
            case 1: Self.asked(Shard.position(Position.none), 8..<10)
            default: Self.asked(changelog: unmarked)
            }
        #expect(calls.contains(.read([Shard.position(way == 0 ? 8 : way == 1 ? 8 : 0)])))
    }

    @Test(
        "A truncated log continues behind its mark if that is still there, and else starts over",
        arguments: [(10, 1_000, 8), (10, 2_000, 0), (10, nil, 0), (7, nil, 0)] as [(Int64, Int64?, Int64)])
    func cut(end: Int64, timestamp: Int64?, from offset: Int64) {
        let (shard, _) = Self.asked(Shard.commit(12))
        shard.ports.replica = Self.counted
        shard.turn()
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<end)]
        shard.turn()
        shard.confirm()
        #expect(shard.callsOfTurn().contains(.read([Shard.position(7)])) == (end > 7))
        if let timestamp { shard.ports.messages = [ScriptedPorts.Message(offset: 7, timestamp: timestamp)] }
        shard.turn(after: .seconds(11))
        #expect(shard.committed(after: .seconds(1)) == nil)
        // An owner that comes before the commit finds the mark as well.
        let mark = shard.ports.sentChanges.map(\.value)
        expect(mark, is: [offset > 0 ? "1000 7 1" : "0 0 1"])
        shard.acknowledgeChanges()
        shard.turn()
        expect(shard.committed(after: .milliseconds(1500))?.map(\.offset), is: [offset])
    }

    /// The changelog has marks at 9, 6, 3 and 1, but the log ends at 8. A record is an offset and a timestamp; nil: 10 s
    /// pass.
    @Test(
        "A log that was truncated before its newest mark continues behind the newest one that is still there",
        arguments: [
            ([(6, 2_000)], [6], "2000 6 1"), ([(6, 9), (7, 2_000), (3, 1_000)], [6, 3], "1000 3 1"),
            ([nil, (3, 1_000)], [6, 3], "1000 3 1"), ([(7, 9), nil, (1, 500)], [6, 3, 1], "500 1 1"),
            ([nil, nil, nil], [6, 3, 1], "0 0 1"),
        ] as [([(offset: Int64, timestamp: Int64)?], [Int64], String)])
    func cutBeforeMark(records: [(offset: Int64, timestamp: Int64)?], read: [Int64], mark: String) {
        let marks = [("", "3000 9"), ("minute", "2000 6"), ("hour", "1000 3"), ("day", "500 1")]
        let changelog = marks.enumerated().map { offset, mark in
            (event: Self.nobody(at: Int64(offset + 1)), key: [0, 0, 0, 0] + mark.0.utf8, value: Array(mark.1.utf8))
        }
        let (shard, _) = Self.asked(
            Shard.commit(12), changelog: [Shard.record(0, "anna", "5 9")] + changelog + [Shard.end(5)])
        shard.ports.events = [.outOfLog(partition)]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<8)]
        shard.turn()
        shard.confirm()
        var calls = shard.callsOfTurn()
        for record in records {
            if let record {
                shard.ports.messages = [ScriptedPorts.Message(offset: record.offset, timestamp: record.timestamp)]
            }
            calls += shard.callsOfTurn(after: record == nil ? .seconds(10) : .zero)
        }
        let offsets = calls.flatMap { call -> [Int64] in
            if case .read(let positions) = call { positions.map(\.offset) } else { [] }
        }
        expect(offsets, is: read)
        shard.turn(after: .milliseconds(20))
        expect(shard.ports.sentChanges.map(\.value), is: [mark])
        shard.acknowledgeChanges()
        shard.turn()
        let offset = mark == "0 0 1" ? 0 : read.last.map { $0 + 1 }
        expect(shard.committed(after: .milliseconds(1500))?.first?.offset, is: offset)
    }

    @Test("A log that returns nothing from the mark on is taken for the same after 10 s")
    func nothing() {
        let (shard, _) = Self.asked()
        let seek = Shard.Call.seek(Shard.position(0))
        #expect(!shard.callsOfTurn(after: .milliseconds(9_990)).contains(seek))
        expect(shard.turn(), is: shard.ports.now + .milliseconds(10))
        shard.turn(after: .milliseconds(10))
        #expect(shard.callsOfTurn().contains(seek))
    }

    @Test("After a rebalance or a truncation meanwhile, the offset is asked for again", arguments: [false, true])
    func again(isCut: Bool) {
        let (shard, _) = Self.asked()
        shard.ports.events = [isCut ? .outOfLog(partition) : .assigned([Shard.partition(1)])]
        #expect(
            shard.callsOfTurn().contains {
                if case .askCommitted(let all) = $0 { all.contains(partition) } else { false }
            })
    }

    /// A message of another partition is in flight. Of this partition the log's range and the counts are known.
    private static func besideAnother(_ prepare: (ScriptedShard) -> Void) -> ScriptedShard {
        let shard = Shard.counting {
            $0.reset = .earliest
            $0.drain = .seconds(20)
        }
        shard.begin(1..<2)
        prepare(shard)
        shard.deliver(of: 1)
        shard.turn()
        shard.ports.events = [.assigned([Shard.partition()])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(Shard.partition(), 0..<10)]
        shard.ports.replica = counted
        return shard
    }

    @Test("During a revocation or shutdown a missing record at the mark has no effect", arguments: [false, true])
    func takesNothing(isEnding: Bool) {
        let shard = Self.besideAnother { $0.suspend([0], for: .seconds(60)) }
        if !isEnding { shard.ports.events.insert(.revoked([Shard.partition(1)]), at: 0) }
        #expect(shard.callsOfTurn().contains(.read([Shard.position(7)])))
        if isEnding { shard.ports.terminations = 1 }
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn(after: .seconds(4)) }
        #expect(!calls.contains(.seek(Shard.position(0))))
    }

    @Test("Time that brokers hold up does not count for the wait for the marked record")
    func heldUp() {
        let shard = Self.besideAnother { $0.ports.publishing = { _ in .later } }
        #expect(shard.callsOfTurn().contains(.read([Shard.position(7)])))
        var calls = (0..<2).flatMap { _ in shard.callsOfTurn(after: .seconds(6)) }
        shard.ports.publishing = { _ in .queued }
        calls += shard.callsOfTurn(after: .milliseconds(5))
        #expect(!calls.contains(.seek(Shard.position(0))))
        shard.ports.messages = [ScriptedPorts.Message(offset: 7, timestamp: 2_000)]
        #expect(shard.callsOfTurn(after: .seconds(9)).told.contains(.logMadeAnew(partition, offset: 0)))
    }

    @Test("The start of a partition is not committed before its log is compared")
    func revoked() {
        let (shard, _) = Self.asked()
        shard.ports.events = [.revoked([partition])]
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.giveBack([partition])))
        #expect(!calls.contains { if case .commit = $0 { true } else { false } })
    }
}
