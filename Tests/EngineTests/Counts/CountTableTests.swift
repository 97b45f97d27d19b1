import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The table of counts")
struct CountTableTests {
    @Test("A full table stays evenly full while accounts come and go")
    func evenness() {
        var counts = PartitionCounts(disk: MemoryDisk(), budget: 1 << 17, undoes: false)
        var least = Int.max
        for number in 0..<40_000 {
            counts.want(account(number))
            if number % 100 != 99 { continue }
            let isLoaded = counts.load()
            #expect(isLoaded)
            if number > 10_000 { least = min(least, counts.table.count) }
        }
        let (count, longest) = (counts.table.count, counts.table.longestProbe)
        // At most 13 in 16 of 3,328 cells are full: 2,704.
        #expect(least >= 2_600 && count <= 2_704 && longest < 60)
    }

    @Test("Accounts in regular use stay in memory while others come and go")
    func clock() {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 17, undoes: false)
        for round in 0..<500 {
            for number in 0..<500 { counts.want(account(number)) }
            for number in 0..<20 { counts.want(account(1000 + round * 20 + number)) }
            let isLoaded = counts.load()
            #expect(isLoaded)
        }
        var known = 0
        for number in 0..<500 where counts.state(of: account(number)) != nil { known += 1 }
        expect(known, is: 500)
    }

    @Test("Many counts of one account are no reason to make a large file anew", arguments: [(199, false), (200, true)])
    func busy(accounts: Int, isMany: Bool) {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 20, undoes: false)
        for number in 0..<6_400 { counts.stored(account(number), CountState(count: 1, offset: Int64(number))) }
        let isWritten = counts.writeBehind(at: nil)
        #expect(isWritten && disk.rowCount == 6_400)
        for offset in Int64(6_400)..<10_000 {
            counts.stored(account(Int(offset) % accounts), CountState(count: 2, offset: offset))
        }
        let (hasMany, isWorth) = (counts.hasManyPending, counts.isWorthWriting(waited: .seconds(12)))
        #expect(hasMany == isMany && isWorth == isMany)
        let isOld = counts.isWorthWriting(waited: .milliseconds(12_048))
        #expect(isOld)
    }

    @Test("With nothing to write, the disk's file is not made anew")
    func nothingToWrite() {
        var counts = PartitionCounts(disk: MemoryDisk(), budget: 1 << 12, undoes: false)
        expect(counts.isWorthWriting(waited: .seconds(3600)), is: false)
        counts.stored(account(1), CountState(count: 1, offset: 1))
        expect(counts.isWorthWriting(waited: .seconds(3600)), is: true)
    }

    @Test("A table that shrinks keeps as many accounts as it then has room for")
    func shrinks() {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 20, undoes: false)
        for number in 0..<10_000 { counts.want(account(number)) }
        var isLoaded = counts.load()
        #expect(isLoaded && counts.table.count == 10_000)
        counts.budget = 1 << 17
        counts.want(account(10_000))
        isLoaded = counts.load()
        let count = counts.table.count
        #expect(isLoaded && 2_500...2_704 ~= count)
    }

    @Test("Held accounts may exceed the budget, and their memory is returned after release")
    func beyondBudget() {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 12, undoes: false)
        for number in 0..<2000 {
            counts.want(account(number))
            let isLoaded = counts.load()
            let earlier = counts.change(account(number), to: CountState(count: 1, offset: Int64(number)), by: 9)
            #expect(isLoaded && earlier == 0)
        }
        var (count, bytes) = (counts.table.count, counts.table.byteCount)
        #expect(count == 2000 && bytes > 1 << 16)
        for number in 0..<2000 {
            counts.stored(account(number), CountState(count: 1, offset: Int64(number)))
            counts.release(account(number), entry: 9)
        }
        let isWritten = counts.writeBehind(at: nil)
        counts.want(account(0))
        let isLoaded = counts.load()
        (count, bytes) = (counts.table.count, counts.table.byteCount)
        #expect(isWritten && isLoaded && count <= 104 && bytes <= 1 << 12)
    }

    @Test("A rollback restores an account's stored state and releases it")
    func rolledBack() throws {
        var counts = PartitionCounts(disk: MemoryDisk(), budget: 1 << 12, undoes: true)
        counts.want(account(1))
        let isLoaded = counts.load()
        #expect(isLoaded)
        let states = (1...2).map { CountState(count: $0, offset: Int64($0)) }
        _ = counts.change(account(1), to: states[0], by: 1)
        counts.commitChanges()
        counts.stored(account(1), states[0])
        _ = counts.change(account(1), to: states[1], by: 2)
        counts.release(account(1), entry: 2)
        counts.rollBack()
        let isWritten = counts.writeBehind(at: nil)
        let (state, held) = (counts.state(of: account(1)), counts.table.heldCount)
        #expect(isWritten && state == states[0] && held == 0)
    }

    @Test(
        "A stored state of an account not in memory is read, before and after it is written"
    )
    func strays() throws {
        let disk = MemoryDisk()
        let row = CountRow(account(1), CountState(count: 1, offset: 1))
        expect(disk.write([row], at: nil, most: .max), is: .written)
        var counts = PartitionCounts(disk: disk, budget: 1 << 12, undoes: false)
        let later = CountState(count: 2, offset: 2)
        counts.stored(account(1), later)
        // There is room for 100 of them.
        for number in 100..<1_000 {
            counts.want(account(number))
            let isLoaded = counts.load()
            #expect(isLoaded)
        }
        for _ in 0..<2 {
            counts.want(account(1))
            let isLoaded = counts.load()
            let state = counts.state(of: account(1))
            let isWritten = counts.writeBehind(at: nil)
            #expect(isLoaded && state == later && isWritten && disk.rows[account(1)] == later)
        }
    }

    @Test("Restored rows are written before more of them wait than the budget has room for")
    func restoredRows() {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 12, undoes: false)
        #expect(counts.beginRestore() == nil)
        for batch in 0..<20 {
            let rows = (batch * 40..<(batch + 1) * 40).map {
                CountRow(account($0), CountState(count: 1, offset: Int64($0)))
            }
            let isTaken = counts.restore(rows, at: position(Int64(batch))) {
                Issue.record("row \($0) is stale")
                return []
            }
            let waiting = counts.pendingRows
            #expect(isTaken && waiting <= CountTable.smallest)
        }
        // A restart continues after the last batch that was written.
        #expect(disk.rows.count == 19 * 40 && disk.position == position(18))
    }
}
