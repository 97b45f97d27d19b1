import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Wake-ups")
struct WakeUpsTests {
    private func time(_ milliseconds: Int) -> Instant { .past + .milliseconds(milliseconds) }

    @Test("Due entries come in the order of their times, and no others")
    func order() {
        var entries = EntryTable(capacity: 8)
        var wakeUps = WakeUps()
        for milliseconds in [50, 10, 40, 20, 30] {
            let entry = entries.insert(bytes: 0)
            entries[entry].wakeUp = time(milliseconds)
            wakeUps.insert(entry, &entries)
        }
        expect(wakeUps.earliest(entries), is: time(10))
        var times: [Instant] = []
        while let entry = wakeUps.next(dueAt: time(30), &entries) { times.append(entries[entry].wakeUp) }
        expect(times, is: [time(10), time(20), time(30)])
        expect(wakeUps.earliest(entries), is: time(40))
        expect(wakeUps.count, is: 2)
    }

    @Test("Without entries there is no next wake-up")
    func empty() {
        let entries = EntryTable(capacity: 1)
        expect(WakeUps().earliest(entries), is: .never)
    }

    @Test("Wake-ups match a model of a sorted list", arguments: 1...8)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var entries = EntryTable(capacity: 40)
        var wakeUps = WakeUps()
        var model: [UInt32: Instant] = [:]
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let entry = entries.insert(bytes: 0)
                guard entry != 0 else { continue }
                entries[entry].wakeUp = time(Int.random(in: 0..<100, using: &random))
                wakeUps.insert(entry, &entries)
                model[entry] = entries[entry].wakeUp
            case 2:
                guard let entry = model.keys.sorted().randomElement(using: &random) else { continue }
                wakeUps.remove(entry, &entries)
                // Removing it once more does nothing.
                wakeUps.remove(entry, &entries)
                entries.remove(entry)
                model[entry] = nil
            default:
                let now = time(Int.random(in: 0..<60, using: &random))
                let entry = wakeUps.next(dueAt: now, &entries)
                let due = model.values.min().flatMap { $0 <= now ? $0 : nil }
                try #require(entry.flatMap { model[$0] } == due)
                guard let entry else { continue }
                model[entry] = nil
                entries.remove(entry)
            }
            try #require(wakeUps.count == model.count)
            try #require(wakeUps.earliest(entries) == model.values.min() ?? .never)
        }
    }
}
