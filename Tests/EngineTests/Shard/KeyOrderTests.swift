import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The order of keys")
struct KeyOrderTests {
    /// A table with one entry for each of these keys.
    private static func table(_ keys: [UInt64]) -> EntryTable {
        var entries = EntryTable(capacity: keys.count)
        for key in keys {
            let entry = entries.insert(bytes: 0)
            entries[entry].key = key
        }
        return entries
    }

    @Test("No entry waits for a key that is not held")
    func free() {
        var entries = Self.table([5, 6])
        var order = KeyOrder()
        expect(order.isEmpty, is: true)
        order.hold(1, &entries)
        let waits = order.wait(2, &entries)
        #expect(!waits)
        expect(order.isEmpty, is: false)
    }

    @Test("Entries that wait for a key get it one after the other, in order")
    func inOrder() {
        var entries = Self.table([5, 5, 5, 6])
        var order = KeyOrder()
        order.hold(1, &entries)
        order.hold(4, &entries)
        let waits = [order.wait(2, &entries), order.wait(3, &entries)]
        expect(waits, is: [true, true])
        var next = order.release(1, &entries)
        expect(next, is: 2)
        #expect(entries[2].holdsKey)
        // An entry that holds its key already holds it again: nothing happens.
        order.hold(2, &entries)
        next = order.release(2, &entries)
        expect(next, is: 3)
        next = order.release(3, &entries)
        expect(next, is: 0)
        next = order.release(4, &entries)
        expect(next, is: 0)
        expect(order.isEmpty, is: true)
    }

    @Test("An entry that does not hold its key releases nothing")
    func stranger() {
        var entries = Self.table([5, 5])
        var order = KeyOrder()
        order.hold(1, &entries)
        let next = order.release(2, &entries)
        expect(next, is: 0)
        expect(order.isEmpty, is: false)
    }

    @Test("Waiting entries of one partition are removed, and the others keep their order")
    func removed() {
        var entries = Self.table([5, 5, 5, 5, 5])
        var order = KeyOrder()
        entries[2].partition = 1
        entries[5].partition = 1
        order.hold(1, &entries)
        for entry in UInt32(2)...5 { _ = order.wait(entry, &entries) }
        order.removeWaiting(&entries, of: 1)
        expect(order.waiting, is: 2)
        var released: [UInt32] = []
        var next = order.release(1, &entries)
        while next != 0 {
            released.append(next)
            next = order.release(next, &entries)
        }
        expect(released, is: [3, 4])
        expect(order.isEmpty, is: true)
    }

    @Test("Entries are late if enough wait for the stage of the same one")
    func hurried() {
        var entries = Self.table([5, 5, 5, 6, 6, 7, 7, 7, 8, 8, 8])
        var order = KeyOrder()
        for (holder, waiting) in [(1, 2...3), (4, 5...5), (6, 7...8), (9, 10...11)] as [(UInt32, ClosedRange<UInt32>)] {
            order.hold(holder, &entries)
            entries[holder].state = holder == 9 ? .held : .suspended
            for entry in waiting { _ = order.wait(entry, &entries) }
        }
        entries[6].partition = 1
        let ofPartition = order.hurry(1, least: 2, &entries)
        expect(ofPartition.suspended, is: [6])
        let rest = order.hurry(nil, least: 2, &entries)
        expect(rest.suspended, is: [1])
        expect(rest.waiting, is: 2)
        expect(entries.indices.filter { entries[$0].isLate }, is: [1, 2, 3, 6, 7, 8])
        // The next one holds the key, and is not waited for by itself.
        let next = order.release(1, &entries)
        entries[next].state = .suspended
        let again = order.hurry(nil, least: 2, &entries)
        expect(again.suspended, is: [])
    }

    @Test("Removing the entries of partitions where none waits is cheap with many held keys", .timeLimit(.minutes(1)))
    func removedOfMany() {
        var entries = Self.table((UInt64(1)...10_001).map { min($0, 10_000) })
        var order = KeyOrder()
        for entry in UInt32(1)...10_000 { order.hold(entry, &entries) }
        let waits = order.wait(10_001, &entries)
        #expect(waits)
        entries[10_001].partition = 1
        for partition in Int32(1)..<10_000 { order.removeWaiting(&entries, of: partition) }
        expect(order.waiting, is: 0)
        let next = order.release(10_000, &entries)
        expect(next, is: 0)
    }

    @Test("The order of keys matches a model of lists", arguments: 1...6)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var entries = EntryTable(capacity: 30)
        var order = KeyOrder()
        // The first of each list holds the key.
        var model: [UInt64: [UInt32]] = [:]
        for _ in 0..<3_000 {
            if random.once(in: 2) {
                let entry = entries.insert(bytes: 0)
                guard entry != 0 else { continue }
                let key = UInt64.random(in: 1...4, using: &random)
                entries[entry].key = key
                let waits = order.wait(entry, &entries)
                try #require(waits == (model[key] != nil))
                if !waits { order.hold(entry, &entries) }
                model[key, default: []].append(entry)
            } else {
                guard let key = model.keys.sorted().randomElement(using: &random), let first = model[key]?.first else {
                    continue
                }
                let next = order.release(first, &entries)
                entries.remove(first)
                model[key]?.removeFirst()
                try #require(next == model[key]?.first ?? 0)
                if model[key] == [] { model[key] = nil }
            }
            try #require(order.isEmpty == model.isEmpty)
            try #require(order.waiting == model.values.reduce(0) { $0 + $1.count - 1 })
        }
    }
}
