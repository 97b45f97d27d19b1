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

    /// Up to where the message's count is stored, and the marks that follow it are sent.
    private static func count(_ message: ScriptedPorts.Message, by shard: ScriptedShard) {
        shard.ports.messages = [message]
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.acknowledgeChanges()
        shard.turn()
        shard.turn(after: .milliseconds(20))
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
            // A clock that is two days ahead, and one that is late.
            (180_000_000, [" 180000000 8"]), (3_800_002, [" 3800002 9"]), (5_000, [" 5000 10"]),
            (3_860_001, [" 3860001 11"]), (3_860_002, ["minute 3860001 11", " 3860002 12"]),
            // Two in a row are ahead, so that one is kept until it is found to be ahead.
            (180_000_000, [" 180000000 13"]), (180_000_001, ["minute 180000000 13", " 180000001 14"]),
            (3_870_000, [" 3870000 15"]), (3_870_001, ["minute 3870000 15", " 3870001 16"]),
        ]
        for (offset, step) in steps.enumerated() {
            shard.turn(after: .seconds(5))
            Self.count(
                ScriptedPorts.Message(offset: Int64(offset), timestamp: step.timestamp, recipient: "anna"), by: shard)
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
        Self.count(ScriptedPorts.Message(partition: 0, offset: offset, recipient: "bert"), by: shard)
        expect(shard.ports.takeSentChanges().map(\.value), is: (isHighest ? ["1000 7", "1000 8"] : []))
    }

    @Test("A mark that is written again does not make its record done, which is in flight again")
    func inFlight() {
        let shard = Shard.counting()
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.commit(7)])]
        shard.ports.replica = Self.counted
        for _ in 0..<2 { shard.turn() }
        shard.turn(after: .seconds(5))
        let counting = shard.ports.chain
        shard.ports.chain = { message, now in
            message.offset == 7 ? .suspended(until: .never) : counting(message, now)
        }
        shard.ports.messages = [ScriptedPorts.Message(partition: 0, offset: 7, recipient: "anna")]
        shard.turn()
        Self.count(ScriptedPorts.Message(partition: 0, offset: 8, recipient: "bert"), by: shard)
        expect(shard.ports.sentChanges.map { "\($0.key) \($0.value)" }, is: ["minute 1000 7", " 1000 8"])
        shard.acknowledgeChanges()
        shard.acceptCommit()
        shard.turn()
        Self.count(ScriptedPorts.Message(partition: 0, offset: 9, recipient: "bert"), by: shard)
        let committed = shard.ports.takeCalls().compactMap { call -> [Int64]? in
            if case .commit(let positions, _) = call { positions.map(\.offset) } else { nil }
        }
        expect(committed.last, is: [7])
    }

    @Test("Another record at the mark means another log: counts stay, and its events count")
    func another() {
        let (shard, calls) = Self.asked()
        #expect(calls.contains(.askRecord(Shard.position(7))))
        #expect(shard.committed(after: .seconds(1)) == nil)
        shard.ports.events = [.record(Shard.position(7), timestamp: 2_000)]
        let compared = shard.callsOfTurn() + shard.callsOfTurn()
        #expect(compared.told.contains(.logMadeAnew(partition, offset: 0)))
        #expect(compared.contains(.publishChange(key: "", value: "0 0 1", timestamp: shard.ports.wallClock)))
        #expect(shard.acceptNewLog().contains(.read([Shard.position(0)])))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: false)))
    }

    @Test("The same record at the mark, or none, means the same log", arguments: [1_000, nil] as [Int64?])
    func same(timestamp: Int64?) {
        let (shard, _) = Self.asked()
        shard.ports.events = [.record(Shard.position(7), timestamp: timestamp)]
        let compared = shard.callsOfTurn() + shard.callsOfTurn()
        expect(compared.told, is: [.reading([partition])])
        #expect(compared.contains(.read([Shard.position(0)])))
        shard.deliver()
        #expect(shard.callsOfTurn().contains(.begin(offset: 0, count: 5, isCounted: true)))
    }

    @Test("With a foreign commit the log is compared as well, and begins at that offset")
    func foreign() {
        let (shard, calls) = Self.asked(Shard.position(3))
        #expect(calls.contains(.askRecord(Shard.position(7))))
        shard.ports.events = [.record(Shard.position(7), timestamp: 2_000)]
        let compared = shard.callsOfTurn() + shard.callsOfTurn()
        #expect(compared.told.contains(.logMadeAnew(partition, offset: 3)))
        #expect(shard.acceptNewLog().contains(.read([Shard.position(3)])))
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
        #expect(asked.contains(.askRecord(Shard.position(7))))
        shard.ports.events = [.record(Shard.position(7), timestamp: isAnother ? 2_000 : 1_000)]
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
        let calls = shard.callsOfTurn() + shard.callsOfTurn()
        #expect(calls.contains(.askRecord(Shard.position(7))) == (end > 7))
        if end > 7 { shard.ports.events = [.record(Shard.position(7), timestamp: timestamp)] }
        shard.turn()
        #expect(shard.committed(after: .seconds(1)) == nil)
        // An owner that comes before the commit finds the mark as well.
        let mark = shard.ports.sentChanges.map(\.value)
        expect(mark, is: [offset > 0 ? "1000 7 1" : "0 0 1"])
        shard.acknowledgeChanges()
        shard.turn()
        expect(shard.committed(after: .milliseconds(1500))?.map(\.offset), is: [offset])
    }

    /// The changelog has marks at 9, 6, 3 and 1, but the log ends at 8. What is there at the marks that are asked for.
    @Test(
        "A log that was truncated before its newest mark continues behind the newest one that is still there",
        arguments: [
            ([2_000], "2000 6 1", ["1000 3 1", "500 1 1"]), ([9, 1_000], "1000 3 1", ["500 1 1"]),
            ([nil, 1_000], "1000 3 1", ["500 1 1"]), ([9, nil, 500], "500 1 1", []), ([nil, nil, nil], "0 0 1", []),
        ] as [([Int64?], String, [String])])
    func cutBeforeMark(timestamps: [Int64?], mark: String, older: [String]) {
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
        let asked = [6, 3, 1].prefix(timestamps.count).map { Shard.position($0) }
        for (position, timestamp) in zip(asked, timestamps) {
            let calls = shard.callsOfTurn() + shard.callsOfTurn()
            #expect(calls.contains(.askRecord(position)))
            shard.ports.events = [.record(position, timestamp: timestamp)]
        }
        shard.turn()
        shard.turn(after: .milliseconds(20))
        // The older marks stay useful in the log's new incarnation.
        expect(shard.ports.sentChanges.map(\.value), is: [mark] + older)
        shard.acknowledgeChanges()
        shard.turn()
        let offset = mark == "0 0 1" ? 0 : asked.last.map { $0.offset + 1 }
        expect(shard.committed(after: .milliseconds(1500))?.first?.offset, is: offset)
    }

    @Test("The record at the mark is asked for until there is an answer: time says nothing about a log")
    func nothing() {
        let (shard, calls) = Self.asked()
        let ask = Shard.Call.askRecord(Shard.position(7))
        #expect(calls.contains(ask))
        // A late answer about another mark.
        shard.ports.events = [.record(Shard.position(6), timestamp: 2_000)]
        for _ in 0..<4 {
            #expect(!shard.callsOfTurn(after: .milliseconds(14_990)).contains(ask))
            #expect(shard.callsOfTurn(after: .milliseconds(10)).contains(ask))
        }
        shard.ports.events = [.record(Shard.position(7), timestamp: 1_000)]
        let compared = shard.callsOfTurn() + shard.callsOfTurn()
        #expect(compared.contains(.read([Shard.position(0)])))
    }

    @Test("A rebalance or a truncation meanwhile does not disturb the comparison", arguments: [false, true])
    func meanwhile(isCut: Bool) {
        let (shard, _) = Self.asked()
        shard.ports.events = [isCut ? .outOfLog(partition) : .assigned([Shard.partition(1)])]
        shard.turn()
        shard.ports.events = [.record(Shard.position(7), timestamp: 2_000)]
        #expect(shard.callsOfTurn().told.contains(.logMadeAnew(partition, offset: 0)))
    }

    @Test("During a shutdown an answer has no effect")
    func ending() {
        let shard = Shard.counting { $0.reset = .earliest }
        shard.begin(1..<2)
        shard.suspend([0], for: .seconds(60))
        shard.deliver(of: 1)
        shard.turn()
        shard.ports.events = [.assigned([partition])]
        shard.turn()
        shard.ports.events = [.committed([Shard.position(Position.none)])]
        shard.turn()
        shard.ports.events = [.range(partition, 0..<10)]
        shard.ports.replica = Self.counted
        #expect(shard.callsOfTurn().contains(.askRecord(Shard.position(7))))
        shard.ports.terminations = 1
        shard.turn()
        shard.ports.events = [.record(Shard.position(7), timestamp: 2_000)]
        #expect(shard.callsOfTurn().told.isEmpty)
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
