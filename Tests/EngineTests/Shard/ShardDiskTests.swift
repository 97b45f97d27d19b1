import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Counts on the disk of a shard")
struct ShardDiskTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    @Test("Stored counts are on the disk after ten seconds, or when the partition is given back")
    func writtenBehind() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        for _ in 0..<2 {
            shard.count()
            shard.turn()
            shard.acceptCommit()
            shard.turn()
        }
        let before = disk.rows.count
        shard.turn(after: .seconds(9))
        expect(disk.rows.count, is: before)
        shard.turn(after: .seconds(1))
        expect(disk.rows.values.map { $0 }, is: [CountState(count: 2, incarnation: 0, offset: 1)])
        shard.count(["bert"])
        shard.ports.events = [.revoked([partition])]
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        expect(disk.rows.count, is: 2)
        expect(disk.position?.offset, is: 2)
    }

    @Test("A disk that cannot be read is reported, and counts are restored again")
    func diskFails() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        disk.isFailing = true
        shard.deliver()
        let calls = shard.callsOfTurn()
        expect(calls.told, is: [.diskFailed(partition)])
        expect(shard.ports.released, is: [0])
        expect(shard.figures.inFlight, is: 0)
        disk.isFailing = false
        expect(shard.callsOfTurn(after: .milliseconds(999)), is: [])
        expect(shard.callsOfTurn(after: .milliseconds(1)), is: [.askCommitted([partition])])
        shard.ports.events = [.committed([Shard.commit(0)])]
        shard.turn()
        shard.ports.replica = [Shard.end(0)]
        #expect((0..<2).flatMap { _ in shard.callsOfTurn() }.told.contains(.reading([partition])))
    }

    @Test("After a disk failure, nothing older is committed when the partition is revoked")
    func drainedAfterFailure() throws {
        let shard = Shard.counting()
        shard.begin(0..<2)
        let disk = try #require(shard.ports.disks[partition])
        shard.count()
        shard.turn()
        // After a retried commit, everything is committed once more five seconds later.
        shard.acceptCommit(.retry(.unanswered))
        shard.turn()
        expect(shard.committed(after: .milliseconds(50))?.map(\.offset), is: [1])
        disk.isFailing = true
        shard.deliver(to: "bert")
        expect(shard.callsOfTurn().told, is: [.diskFailed(partition)])
        disk.isFailing = false
        shard.acceptCommit()
        shard.suspend([0], for: .seconds(9))
        shard.deliver(of: 1, to: "carl")
        shard.turn()
        shard.ports.events = [.revoked([partition, Shard.partition(1)])]
        shard.turn()
        var offsets: [Int64] = []
        for _ in 0..<6 {
            let positions = shard.committed(after: .milliseconds(990)) ?? []
            offsets += positions.filter { $0.partition == partition }.map(\.offset)
        }
        expect(offsets, is: [1])
    }

    @Test("A disk that cannot be written is reported, and written later")
    func diskFull() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        shard.count()
        shard.turn()
        disk.isFailing = true
        expect(
            shard.callsOfTurn(after: .seconds(10)).told,
            is: [.commitFailed(reason: "the group does not answer"), .diskNotWritten(partition)])
        disk.isFailing = false
        shard.turn(after: .seconds(10))
        expect(disk.rows.count, is: 1)
    }

    @Test("If a write finds the disk damaged, the counts are restored from the changelog at once")
    func damaged() throws {
        let shard = Shard.counting()
        shard.begin()
        let disk = try #require(shard.ports.disks[partition])
        shard.count()
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        disk.hasHole = true
        expect(shard.callsOfTurn(after: .seconds(10)).told, is: [.diskFailed(partition)])
        #expect(!disk.isDamaged)
        expect(shard.callsOfTurn(after: .seconds(1)), is: [.askCommitted([partition])])
        shard.ports.events = [.committed([Shard.commit(1)])]
        shard.turn()
        shard.ports.replica = [Shard.record(0, "anna", "1 0"), Shard.end(1)]
        for _ in 0..<2 { shard.turn() }
        shard.turn(after: .seconds(10))
        expect(disk.rows.values.map { $0 }, is: [CountState(count: 1, incarnation: 0, offset: 0)])
    }
}
