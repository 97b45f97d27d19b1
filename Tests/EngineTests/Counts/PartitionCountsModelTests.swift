import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

/// The same accounts in dictionaries.
private struct Model {
    var live: [Int: CountState] = [:]
    var committed: [Int: CountState] = [:]
    /// Acknowledged by the changelog.
    var stored: [Int: CountState] = [:]
    var entries: [Int: UInt32] = [:]
    var highest: CountState?

    func state(_ number: Int) -> CountState { live[number] ?? CountState(count: 0) }

    mutating func store(_ number: Int, _ state: CountState) {
        if stored[number].map({ $0 <= state }) ?? true { stored[number] = state }
        if highest.map({ $0 < state }) ?? true { highest = state }
    }
}

@Suite("A partition's counts against a model")
struct PartitionCountsModelTests {
    @Test(
        "Counts match the model under random messages, checkpoints, transactions and disk failures",
        arguments: (0..<24).map { (seed: UInt64($0), undoes: $0 % 2 == 0) })
    func messages(seed: UInt64, undoes: Bool) throws {
        var random = SeededGenerator(seed: seed)
        let disk = MemoryDisk()
        let universe = random.pick([40, 400, 4000])
        var budget = random.pick([1 << 12, 1 << 14, 1 << 17])
        var counts = PartitionCounts(disk: disk, budget: budget, undoes: undoes)
        var model = Model()
        var unstored: [(Int, CountState)] = []
        var (offset, entry, end): (Int64, UInt32, Int64) = (0, 0, 0)
        // What was stored when the disk was given each position.
        var storedAt: [RecordPosition: [Int: CountState]] = [:]
        for _ in 0..<400 {
            disk.isFailing = random.once(in: 10)
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<6:
                let batch = (0..<Int.random(in: 1...60, using: &random)).map { _ in
                    Int.random(in: 0..<universe, using: &random)
                }
                for number in batch { counts.want(account(number)) }
                while !counts.load() {
                    #expect(disk.isFailing)
                    disk.isFailing = random.once(in: 2)
                }
                for number in batch {
                    let before = counts.state(of: account(number))
                    expect(before, is: model.state(number))
                    if random.once(in: 4) { continue }
                    offset += 1
                    entry += 1
                    let state =
                        random.once(in: 8)
                        ? model.state(number) : CountState(count: Int32(offset), incarnation: 1, offset: offset)
                    let previous = counts.change(account(number), to: state, by: entry)
                    let after = counts.state(of: account(number))
                    #expect(previous == model.entries[number] ?? 0 && after == state)
                    model.entries[number] = entry
                    if state != model.state(number) { unstored.append((number, state)) }
                    model.live[number] = state
                }
            case 6:
                for (number, entry) in model.entries where random.once(in: 2) {
                    counts.release(account(number), entry: entry - 1)
                    counts.release(account(number), entry: entry)
                    model.entries[number] = nil
                }
                counts.release(account(universe + 1), entry: 1)
            case 7 where !undoes:
                for (number, state) in unstored {
                    counts.stored(account(number), state)
                    model.store(number, state)
                }
                unstored = []
            case 8:
                // Other states are stored between two parts of a round.
                let most = random.pick([1, 7, .max])
                let place = random.once(in: 3) ? nil : position(end)
                if let place { storedAt[place] = model.stored }
                let isWritten = counts.writeBehind(most, at: place)
                #expect(isWritten || disk.isFailing)
                end += 1
                for (number, state) in disk.position.flatMap({ storedAt[$0] }) ?? [:] {
                    #expect(try #require(disk.rows[account(number)]) >= state)
                }
                if isWritten, most == .max {
                    let pending = counts.pendingRows
                    expect(pending, is: 0)
                    for (number, state) in model.stored { expect(disk.rows[account(number)], is: state) }
                    expect(disk.highest, is: model.highest)
                }
            case 9 where undoes:
                for (number, entry) in model.entries { counts.release(account(number), entry: entry) }
                model.entries = [:]
                counts.commitChanges()
                model.committed = model.live
                for (number, state) in unstored {
                    counts.stored(account(number), state)
                    model.store(number, state)
                }
                unstored = []
            case 10 where undoes:
                for (number, entry) in model.entries { counts.release(account(number), entry: entry) }
                model.entries = [:]
                counts.rollBack()
                model.live = model.committed
                unstored = []
            default:
                budget = random.pick([1 << 12, 1 << 14, 1 << 17])
                counts.budget = budget
            }
            let highest = counts.highest
            expect(highest, is: model.highest)
        }
        // Released accounts make room.
        disk.isFailing = false
        for (number, entry) in model.entries { counts.release(account(number), entry: entry) }
        if undoes { counts.rollBack() }
        for (number, state) in (undoes ? model.committed : model.live) { counts.stored(account(number), state) }
        let isWritten = counts.writeBehind(at: position(end))
        #expect(isWritten)
        expect(disk.position, is: position(end))
        counts.budget = 1 << 12
        for number in 0..<universe {
            counts.want(account(number))
            let isLoaded = counts.load()
            let state = counts.state(of: account(number))
            #expect(isLoaded && state == (undoes ? model.committed : model.live)[number] ?? CountState(count: 0))
        }
        let left = counts.table.count
        #expect(left <= 1 << 12 / 32)
    }

    @Test("If the disk fails, a restart of the counts forgets everything when it is repeated")
    func restart() {
        let disk = MemoryDisk()
        var counts = PartitionCounts(disk: disk, budget: 1 << 12, undoes: false)
        counts.want(account(1))
        _ = counts.load()
        _ = counts.change(account(1), to: CountState(count: 3, incarnation: 1, offset: 3), by: 1)
        counts.stored(account(1), CountState(count: 3, incarnation: 1, offset: 3))
        _ = counts.writeBehind(at: position(5))
        let isRestored = counts.restore([CountRow(account(1), CountState(count: 2, offset: 2))], at: position(6)) { _ in
            [1]
        }
        #expect(isRestored)
        for isFailing in [true, false] {
            disk.isFailing = isFailing
            let (isDone, highest, found) = (counts.restart(), counts.highest, counts.state(of: account(1)))
            expect(isDone, is: !isFailing)
            expect(counts.stale[account(1)]?.key, is: (isDone ? nil : [1]))
            #expect((highest == nil) == isDone && (found == nil) == isDone && disk.rows.isEmpty == isDone)
        }
    }

    @Test(
        "Restoring keeps the highest state, reports stale records, survives failures and restarts", arguments: 0..<30)
    func restoring(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let disk = MemoryDisk()
        let universe = random.pick([40, 400, 4000])
        let log = (0..<6000).map { index in
            (
                number: Int.random(in: 0..<universe, using: &random),
                state: random.once(in: 20)
                    ? CountState(count: Int32(index + 1))
                    : CountState(
                        count: Int32(index), incarnation: index > 3000 ? 1 : 0,
                        offset: Int64(max(0, index % 3000 - Int.random(in: 0...3, using: &random) * 500)))
            )
        }
        var known: [Int: CountState] = [:]
        var next = 0
        var highest: CountState?
        while next < log.count {
            var counts = PartitionCounts(disk: disk, budget: random.pick([1 << 12, 1 << 16]), undoes: false)
            let start = counts.beginRestore().map { Int($0.offset) + 1 } ?? 0
            // Records that are read again because a stale one is among them are on the disk already.
            known = [:]
            for number in 0..<universe { known[number] = disk.rows[account(number)] }
            next = start
            // For each account that was not corrected since: the index of its first stale record.
            var firstStale: [Int: Int] = [:]
            let last = random.once(in: 2) ? log.count : Int.random(in: next...log.count, using: &random)
            while next < last {
                let batch = log[next..<min(last, next + Int.random(in: 1...300, using: &random))]
                var stale: [Int] = []
                for (index, record) in batch.enumerated() {
                    if Self.take(record, &known) {
                        firstStale[record.number] = nil
                    } else {
                        stale.append(index)
                        firstStale[record.number] = firstStale[record.number] ?? batch.startIndex + index
                    }
                }
                disk.isFailing = random.once(in: 5)
                var told: [Int] = []
                let rows = batch.map { CountRow(account($0.number), $0.state) }
                let end = position(Int64(batch.endIndex - 1))
                while !counts.restore(
                    rows, at: end,
                    key: {
                        told.append($0)
                        return [UInt8(truncatingIfNeeded: $0)]
                    })
                {
                    #expect(disk.isFailing && told.isEmpty)
                    disk.isFailing = random.once(in: 2)
                }
                expect(told, is: stale)
                if let first = firstStale.values.min() { #expect(disk.position?.offset ?? -1 < Int64(first)) }
                for record in batch {
                    let isStale = counts.stale[account(record.number)] != nil
                    expect(isStale, is: (firstStale[record.number] != nil))
                    let state = counts.state(of: account(record.number))
                    expect(state, is: known[record.number])
                    highest = max(highest ?? record.state, record.state)
                }
                next = batch.endIndex
                disk.isFailing = false
            }
            if next == log.count || random.once(in: 2) {
                let isWritten = counts.writeBehind(at: next == 0 ? nil : position(Int64(next - 1)))
                #expect(isWritten)
                expect(disk.position, is: (next == 0 ? nil : position(Int64(next - 1))))
            }
        }
        for (number, state) in known { expect(disk.rows[account(number)], is: state) }
        #expect(disk.highest?.offset == highest?.offset && disk.highest?.incarnation == highest?.incarnation)
    }

    @discardableResult
    private static func take(_ record: (number: Int, state: CountState), _ known: inout [Int: CountState]) -> Bool {
        if let before = known[record.number], record.state < before { return false }
        known[record.number] = record.state
        return true
    }
}
