import Push
import Testing

@testable import Stores

@Suite("Counts after an abort, and after a partition has gone")
struct RollBackTests {
    let counts = Counts()

    /// Settles a change in a checkpoint.
    private func save(_ change: BadgeChange?) throws {
        _ = try counts.acknowledge(change, at: 0)
        counts.settled.take().saved(in: 1)
    }

    @Test("What was acknowledged since the last checkpoint is undone, and repeats count from there")
    func acknowledged() throws {
        try save(try counts.process("anna", .add(2), stored: 5))
        for offset in [1, 2] { _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: Int64(offset)) }
        _ = try counts.acknowledge(try counts.process("boris", .set(0), stored: 4), at: 3)
        counts.settled.rollBack()
        #expect(counts.take() == [])
        #expect(try counts.count("anna") == 7)
        #expect(try counts.count("boris") == 4)
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 1)
        #expect(counts.take() == ["anna=8"])
    }

    @Test("A batch whose commit was aborted is undone when it has been put back")
    func putBack() throws {
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 0)
        let batch = counts.settled.take()
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 1)
        counts.settled.putBack(batch)
        counts.settled.rollBack()
        #expect(try counts.count("anna") == 0)
    }

    @Test("What was acknowledged ahead of its turn does not count when its turn comes after the abort")
    func early() throws {
        let first = try counts.process("anna", .add(1))
        let second = try counts.process("anna", .add(10))
        #expect(try counts.acknowledge(second, at: 1) == [])
        counts.settled.rollBack()
        #expect(try counts.giveUp(first) == [])
        #expect(try counts.count("anna") == 0)
        let again = try counts.process("anna", .add(1))
        #expect(try counts.acknowledge(again, at: 0) == [0])
        #expect(counts.take() == ["anna=1"])
    }

    @Test("An account that went back is as good as stored, and may be forgotten")
    func evicted() throws {
        let counts = Counts(capacity: 4)
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 0)
        counts.settled.rollBack()
        for other in 0..<200 { _ = try counts.process("other \(other)", nil) }
        #expect(try counts.count("anna", stored: 1000) == 1000)
    }

    @Test("Under a new lease a count is loaded anew, and the old one is nobody's to write")
    func leases() throws {
        let old = counts.lease
        let late = try counts.process("anna", .add(1), stored: 5)
        _ = try counts.acknowledge(try counts.process("boris", .add(1)), at: 0)
        old.end()
        counts.lease = CountLease()
        #expect(try counts.count("anna", stored: 40) == 40)
        _ = try counts.acknowledge(late, at: 1)
        #expect(counts.take() == [])
        #expect(try counts.count("anna") == 40)
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 2)
        #expect(counts.take() == ["anna=41"])
    }

    @Test("A batch of accounts whose lease has ended meanwhile is not written again")
    func endedMeanwhile() throws {
        _ = try counts.acknowledge(try counts.process("anna", .add(1)), at: 0)
        let batch = counts.settled.take()
        counts.settled.putBack(batch)
        counts.lease.end()
        #expect(counts.take() == [])
    }

    @Test("Accounts of a lease that is over leave memory first")
    func forgotten() throws {
        let counts = Counts(capacity: 4)
        for number in 0..<4 { _ = try counts.process("recipient \(number)", .add(1)) }
        counts.lease.end()
        counts.lease = CountLease()
        for number in 0..<4 { _ = try counts.process("other \(number)", .add(1)) }
        #expect(counts.live.accountCount == 4)
    }
}
