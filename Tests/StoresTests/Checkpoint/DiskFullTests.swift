import Glibc
import Push
import TestSupport
import Testing

@testable import Stores

@Suite(.enabled(if: SmallDisk.mayMount, "needs the right to mount"))
struct DiskFullTests {
    @Test("On a full disk a checkpoint fails as a whole, and goes on when there is space again")
    func fullDisk() throws {
        let disk = try SmallDisk()
        let counts = Counts()
        var file = try CheckpointFile(try StateFile(path: disk.folder.stateFile, access: .alone))
        var pending = PendingCheckpoint()
        var saved: Int64 = 0

        func event(_ next: Int64) throws {
            let change = try #require(try counts.process("recipient \(next % 50)", .add(1)))
            pending.counts.acknowledge(change, of: SourceOffset(assignment: 0, offset: next)) { _ in }
            pending.add(PartitionPosition(topic: "in", partition: 0, next: next + 1, metadata: ""))
        }
        func checkpoint() throws(StoreError) {
            let batch = pending.take()
            do throws(StoreError) {
                let number = try file.save(batch)
                pending.saved(batch, in: number)
            } catch {
                pending.putBack(batch)
                throw error
            }
        }

        var failure: StoreError?
        for next in 0..<Int64(20_000) where failure == nil {
            try event(next)
            if next == 1000 { try disk.fill() }
            guard next % 10 == 9 else { continue }
            do throws(StoreError) {
                try checkpoint()
                saved = next + 1
            } catch {
                failure = error
            }
        }
        guard case .sqlite(_, let code, _, _) = failure else {
            Issue.record("the disk never filled: \(String(describing: failure))")
            return
        }
        #expect([13, 10].contains(code & 0xFF))
        #expect(try file.position(of: "in", 0)?.next == saved)
        #expect(try total(disk.folder) == saved)

        disk.makeRoom()
        try checkpoint()
        #expect(try file.position(of: "in", 0)?.next == saved + 10)
        #expect(try total(disk.folder) == saved + 10)
    }

    private func total(_ folder: TemporaryFolder) throws -> Int64 {
        var sum: Int64 = 0
        try BadgeTable(try StateFile(path: folder.stateFile, access: .shared)).forEach { sum += Int64($2) }
        return sum
    }
}
