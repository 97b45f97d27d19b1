import TestSupport
import Testing
import Worker

@Suite("Deadlines of suspended messages")
struct DeadlineQueueTests {
    @Test("They come due the earliest first, and not before their time")
    func order() {
        var queue = DeadlineQueue<Int, String>()
        for (id, time) in [("c", 30), ("a", 10), ("d", 40), ("b", 20)] { _ = queue.insert(id, at: time) }
        #expect(queue.earliest == 10)
        expectEqual(queue.next(dueAt: 9), nil)
        expectEqual(queue.next(dueAt: 20), "a")
        expectEqual(queue.next(dueAt: 20), "b")
        expectEqual(queue.next(dueAt: 20), nil)
        #expect(queue.earliest == 30 && queue.count == 2)
    }

    @Test("A ticket cancels its own deadline, once, and never the one that took its place")
    func tickets() {
        var queue = DeadlineQueue<Int, String>()
        let first = queue.insert("first", at: 1)
        expectEqual(queue.cancel(first), true)
        let second = queue.insert("second", at: 1)
        expectEqual(queue.cancel(first), false)
        expectEqual(queue.next(dueAt: 1), "second")
        expectEqual(queue.cancel(second), false)
        #expect(queue.earliest == nil && queue.count == 0)
    }

    @Test("Random insertions and cancellations against a plain list", arguments: 1...3 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var queue = DeadlineQueue<Int, Int>()
        var live: [(ticket: DeadlineQueue<Int, Int>.Ticket, time: Int, id: Int)] = []
        var (dead, now) = ([DeadlineQueue<Int, Int>.Ticket](), 0)
        for id in 0..<50_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4 where live.count < 200:
                let time = now + Int.random(in: 0..<500, using: &random)
                live.append((queue.insert(id, at: time), time, id))
            case 4..<6 where !live.isEmpty:
                let entry = live.remove(at: Int.random(in: 0..<live.count, using: &random))
                try requireEqual(queue.cancel(entry.ticket), true)
                dead.append(entry.ticket)
            case 6:
                if let ticket = dead.randomElement(using: &random) { try requireEqual(queue.cancel(ticket), false) }
            default:
                now += Int.random(in: 0..<20, using: &random)
                while let due = queue.next(dueAt: now) {
                    let index = try #require(live.firstIndex { $0.id == due })
                    try #require(live[index].time <= now)
                    try #require(live[index].time == live.map(\.time).min())
                    dead.append(live.remove(at: index).ticket)
                }
                try #require(live.allSatisfy { $0.time > now })
            }
            try #require(queue.count == live.count)
            try #require(queue.earliest == live.map(\.time).min())
        }
    }
}
