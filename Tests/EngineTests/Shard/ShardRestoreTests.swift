import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Counts that a shard restores")
struct ShardRestoreTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()
    private let start = RecordPosition(partition: 0, offset: Position.beginning)

    /// The counts with which messages began.
    private func counts(_ calls: [ScriptedPorts.Call]) -> [Int32?] {
        calls.compactMap { if case .begin(_, let count, _) = $0 { .some(count) } else { nil } }
    }

    @Test("Restored counts are on the disk after ten seconds, even if nothing counts")
    func written() throws {
        let shard = Shard.counting()
        shard.assign()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1)]
        shard.turn()
        let disk = try #require(shard.ports.disks[partition])
        shard.turn(after: .milliseconds(9_999))
        expect(disk.writes, is: 0)
        shard.turn(after: .milliseconds(1))
        expect(disk.rows.values.map(\.count), is: [5])
        expect(disk.position?.offset, is: 0)
    }

    @Test("Counts of an incomplete restore are not written to the disk")
    func notWhole() throws {
        let shard = Shard.counting()
        shard.begin()
        shard.assign(1)
        shard.turn()
        shard.ports.replica = [Shard.record(0, "bert", "5 3", of: 1), Shard.end(1, of: 1, isWhole: false)]
        shard.turn()
        let disk = try #require(shard.ports.disks[Shard.partition(1)])
        shard.turn(after: .seconds(10))
        shard.ports.events = [.revoked([Shard.partition(1)])]
        for _ in 0..<4 { shard.turn() }
        expect(shard.figures.partitions.map(\.id), is: [partition])
        expect(disk.writes, is: 0)
    }

    @Test("A disk that fails during a restore is reported, and the restore starts over")
    func diskFails() throws {
        let shard = Shard.counting()
        shard.assign()
        shard.turn()
        let disk = try #require(shard.ports.disks[partition])
        disk.isFailing = true
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1)]
        expect(shard.callsOfTurn().told, is: [.diskFailed(partition)])
        disk.isFailing = false
        expect(shard.callsOfTurn(after: .milliseconds(999)), is: [.replicate([])])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.askCommitted([partition])])
        shard.ports.events = [.committed([Shard.commit(0)])]
        #expect(shard.callsOfTurn().contains(.replicate([start])))
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1)]
        shard.turn()
        shard.deliver()
        expect(counts(shard.callsOfTurn()), is: [5])
    }

    @Test("A full disk does not keep a partition from being served, even beyond the budget")
    func diskFull() {
        let shard = Shard.counting { $0.countBudget = 1 << 12 }
        let disk = MemoryDisk()
        disk.isFull = true
        shard.ports.disks[partition] = disk
        shard.assign()
        for offset in Int64(0)..<20_000 { shard.ports.replica.append(Shard.record(offset, "\(offset)", "5 0")) }
        shard.ports.replica.append(Shard.end(20_000))
        let calls = (0..<40).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.read([Shard.position(0)])))
        shard.ports.messages = [ScriptedPorts.Message(offset: 0, recipient: "17")]
        expect(counts(shard.callsOfTurn()), is: [5])
        shard.acknowledge()
        #expect(shard.callsOfTurn(after: .seconds(10)).told.contains(.diskNotWritten(partition)))
        disk.isFull = false
        // Messages may run between one part of the rows and the next.
        expect(shard.turn(after: .seconds(10)), is: shard.ports.now)
        #expect(disk.rows.isEmpty && disk.position == nil)
        shard.turn()
        #expect(disk.rows.count == 20_000 && disk.position?.offset == 19_999)
    }

    @Test("A disk that cannot clear the counts of a recreated changelog is reported")
    func cannotForget() throws {
        let shard = Shard.counting()
        shard.assign()
        shard.turn()
        try #require(shard.ports.disks[partition]).isFailing = true
        shard.ports.replica = [(.outOfLog(partition: 0), [], [])]
        expect(shard.callsOfTurn().told, is: [.changelogAnew(partition: 0), .diskFailed(partition)])
    }

    @Test("A look at the changelog that finds nothing is followed by a pause")
    func pauses() {
        let shard = Shard.counting()
        shard.assign()
        shard.turn()
        shard.ports.replica = [Shard.record(0, "anna", "5 3")]
        expect(shard.turn(), is: shard.ports.now)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(50))
    }

    @Test("A stale count that was evicted is read again to be corrected", arguments: [false, true])
    func evicted(isFailing: Bool) throws {
        let shard = Shard.counting { $0.countBudget = 1 << 12 }
        shard.assign()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.record(1, "anna", "4 2")]
        for offset in Int64(2)..<6_000 { shard.ports.replica.append(Shard.record(offset, "\(offset)", "1 1")) }
        for _ in 0..<4 { shard.turn() }
        try #require(shard.ports.disks[partition]).isFailing = isFailing
        shard.ports.replica = [Shard.end(6_000)]
        let calls = shard.callsOfTurn()
        expect(calls.told.contains(.diskFailed(partition)), is: isFailing)
        #expect(
            calls.contains(.publishChange(key: "anna", value: "5 3", timestamp: shard.ports.wallClock)) != isFailing)
    }

    @Test("A restore that starts over finds a stale count again, even if much is on disk")
    func foundAgain() throws {
        let shard = Shard.counting { $0.countBudget = 1 << 12 }
        shard.assign()
        var log = [Shard.record(0, "anna", "5 3"), Shard.record(1, "anna", "4 2")]
        for offset in Int64(2)..<6_000 { log.append(Shard.record(offset, "\(offset)", "1 1")) }
        shard.ports.replica = log
        for _ in 0..<4 { shard.turn() }
        let disk = try #require(shard.ports.disks[partition])
        #expect(disk.writes > 0)
        shard.turn(after: .seconds(23))
        shard.ports.events = [.committed([Shard.commit(0)])]
        #expect(shard.callsOfTurn().contains(.replicate([start])))
        shard.ports.replica = log + [Shard.end(6_000)]
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.publishChange(key: "anna", value: "5 3", timestamp: shard.ports.wallClock)))
    }

    @Test("A stale record that a later one corrects is not rewritten, and progress is kept")
    func rightBehind() throws {
        let shard = Shard.counting { $0.countBudget = 1 << 12 }
        shard.assign()
        var log = [Shard.record(0, "anna", "5 3"), Shard.record(1, "anna", "4 2"), Shard.record(2, "anna", "5 3")]
        for offset in Int64(3)..<6_000 { log.append(Shard.record(offset, "\(offset)", "1 1")) }
        shard.ports.replica = log
        for _ in 0..<4 { shard.turn() }
        let disk = try #require(shard.ports.disks[partition])
        #expect(disk.position?.offset ?? -1 > 2)
        shard.ports.replica = [Shard.end(6_000)]
        let calls = shard.callsOfTurn()
        #expect(calls.contains(.read([Shard.position(0)])))
        #expect(!calls.contains { if case .publishChange = $0 { true } else { false } })
    }

    @Test("A message whose account was evicted while it waited still gets its count", arguments: [false, true])
    func waitedLong(isFailing: Bool) throws {
        let shard = Shard.counting {
            $0.countBudget = 1 << 12
            $0.maxInFlight = 4_000
        }
        shard.assign(at: 4)
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1)]
        shard.turn()
        shard.turn(after: .seconds(10))
        shard.ports.chain = { message, now in
            message.offset == 4 ? .suspended(until: now + .seconds(60)) : .ended(.output, .add(1))
        }
        shard.ports.stageResult = .ended(.output, .add(1))
        for offset in Int64(4)..<900 {
            let recipient = offset < 6 ? "anna" : "\(offset)"
            shard.ports.messages.append(ScriptedPorts.Message(offset: offset, recipient: recipient))
        }
        for _ in 0..<5 { shard.turn() }
        try #require(shard.ports.disks[partition]).isFailing = isFailing
        shard.ports.stageResults = shard.ports.suspendedEntries
        let calls = shard.callsOfTurn()
        expect(calls.told, is: (isFailing ? [.diskFailed(partition)] : []))
        if !isFailing { expect(counts(calls), is: [6]) }
        #expect(calls.contains { if case .publish = $0 { true } else { false } } != isFailing)
    }

    @Test("The restore of a partition that goes is stopped", arguments: [false, true])
    func gone(isLost: Bool) {
        let shard = Shard.counting()
        shard.assign()
        shard.turn()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1)]
        shard.ports.events = [isLost ? .lost([partition]) : .revoked([partition])]
        let calls = (0..<4).flatMap { _ in shard.callsOfTurn() }
        #expect(calls.contains(.replicate([])))
        expect(calls.told, is: (isLost ? [.lost([partition])] : [.revoked([partition]), .givenBack([partition])]))
        expect(shard.turn(), is: .never)
    }

    @Test("A shard that was away during a restore starts it over")
    func away() {
        let shard = Shard.counting()
        shard.assign()
        shard.turn()
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(1, isWhole: false)]
        shard.turn()
        #expect(shard.callsOfTurn(after: .seconds(23)).contains(.askCommitted([partition])))
        shard.ports.events = [.committed([Shard.commit(0)])]
        #expect(shard.callsOfTurn().contains(.replicate([start])))
        shard.ports.replica = [Shard.record(0, "anna", "5 3"), Shard.end(2)]
        #expect(shard.callsOfTurn().contains(.read([Shard.position(0)])))
    }
}

@Suite("Write-behind of a shard's counts")
struct ShardWriteBehindTests {
    private typealias Shard = ScriptedShard

    /// How many partitions have this many accounts on the disk.
    private func written(_ shard: ScriptedShard, accounts: Int = 1) -> Int {
        shard.ports.disks.values.count { $0.rows.count == accounts }
    }

    @Test("Every ten seconds all partitions are written, eight in each turn")
    func rounds() {
        let shard = Shard.counting { $0.maxInFlight = 1_000 }
        shard.begin(0..<20)
        for round in 1...2 {
            shard.count(["\(round)"], of: 0..<20)
            shard.turn()
            shard.acceptCommit()
            shard.turn()
            let isFirst = round == 1
            expect(written(shard, accounts: round), is: 0)
            // Ten seconds after they were restored, or stored.
            shard.turn(after: isFirst ? .milliseconds(9_979) : .milliseconds(9_999))
            expect(written(shard, accounts: round), is: 0)
            for (after, count) in [(1, 8), (0, 16)] {
                expect(shard.turn(after: .milliseconds(after)), is: shard.ports.now)
                expect(written(shard, accounts: round), is: count)
            }
            // With nothing left to write, the shard turns only for its session.
            expect(shard.turn(), is: shard.ports.now + .milliseconds(11_250))
            expect(written(shard, accounts: round), is: 20)
        }
    }

    @Test("100,000 counts are written without waiting for ten seconds", arguments: [(99_999, false), (100_000, true)])
    func many(count: Int, isWritten: Bool) throws {
        let shard = Shard.counting { $0.maxInFlight = 4_000 }
        shard.begin()
        let disk = try #require(shard.ports.disks[Shard.partition()])
        var left = count
        while left > 0 {
            expect(disk.writes, is: 0)
            shard.deliver(min(left, 250))
            left -= min(left, 250)
            shard.turn()
            shard.acknowledge()
            shard.turn()
            shard.acceptCommit()
            shard.acknowledgeChanges()
            shard.turn()
        }
        expect(disk.writes, is: (isWritten ? 1 : 0))
        guard isWritten else { return }
        // After that they are counted from zero.
        shard.count()
        shard.turn()
        expect(disk.writes, is: 1)
    }

    @Test("A partition with as many rows as are written at once is written alone", arguments: [(223, 2), (224, 1)])
    func rows(count: Int, partitions: Int) {
        let shard = Shard.counting { $0.maxInFlight = 4_000 }
        shard.begin(0..<2)
        let recipients = (0..<count).map { "\($0)" }
        for partition in Int32(0)..<2 { shard.count(recipients, of: partition..<partition + 1) }
        shard.turn()
        shard.turn(after: .seconds(10))
        expect(written(shard, accounts: count), is: partitions)
        shard.turn()
        expect(written(shard, accounts: count), is: 2)
    }
}
