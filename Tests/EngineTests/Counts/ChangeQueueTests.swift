import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Count changes queued for the changelog")
struct ChangeQueueTests {
    private let now = Instant.past + .seconds(9)
    private var queue = ChangeQueue()

    private mutating func add(_ key: String, _ origin: ChangeQueue.Origin = .event) {
        queue.add(
            AccountHash(high: UInt64(key.utf8.count), low: 0), CountState(count: 1), origin, timestamp: 5,
            now: now
        ) { $0.append(contentsOf: key.utf8) }
    }

    private func key(_ change: ChangeQueue.Change) -> String {
        queue.withKey(of: change) { String(decoding: $0, as: UTF8.self) }
    }

    /// Publishes every change that is due by then, and returns their keys.
    private mutating func publish(_ numbers: inout [UInt32], after time: Duration = .zero) -> [String] {
        var published: [String] = []
        numbers = []
        while let (sequence, change) = queue.nextUnpublished(now + time) {
            published.append(key(change))
            numbers.append(sequence)
            queue.published(at: 9)
        }
        return published
    }

    /// Removes the stored changes and returns their number.
    private mutating func pop() -> Int {
        var count = 0
        while queue.popStored() != nil { count += 1 }
        return count
    }

    @Test("Changes are published in order with their keys, and removed once they are stored")
    mutating func order() {
        var numbers: [UInt32] = []
        for key in ["a", "", "ccc"] { add(key) }
        expect(publish(&numbers), is: ["a", "", "ccc"])
        #expect(queue.due == nil)
        expect(queue.unstored, is: 3)
        expect(queue.stored(numbers[0], at: 70, now: now), is: false)
        expect(pop(), is: 1)
        // A stored change waits for those before it.
        expect(queue.stored(numbers[2], at: 72, now: now), is: false)
        expect(pop(), is: 0)
        expect(queue.unstored, is: 1)
        expect(queue.stored(numbers[1], at: 71, now: now), is: false)
        expect(pop(), is: 2)
        add("d")
        expect(publish(&numbers), is: ["d"])
    }

    @Test("A failed change is published again alone, then all behind it, stored or not")
    mutating func again() {
        var numbers: [UInt32] = []
        for key in ["a", "b", "c", "d"] { add(key) }
        expect(publish(&numbers).count, is: 4)
        _ = queue.stored(numbers[0], at: 70, now: now)
        _ = queue.stored(numbers[2], at: 71, now: now)
        queue.failed(numbers[1], isRefused: false, now)
        add("e")
        // Some are still in flight.
        #expect(queue.due == nil)
        expect(pop(), is: 1)
        queue.failed(numbers[3], isRefused: false, now)
        expect(queue.unstored, is: 4)
        expect(publish(&numbers), is: [])
        expect(publish(&numbers, after: .milliseconds(50)), is: ["b"])
        expect(queue.stored(numbers[0], at: 73, now: now), is: true)
        expect(pop(), is: 1)
        expect(publish(&numbers), is: ["c", "d", "e"])
        expect(pop(), is: 0)
        for number in numbers { _ = queue.stored(number, at: 80, now: now) }
        expect(pop(), is: 3)
        expect(queue.unstored, is: 0)
    }

    @Test("A change that is acknowledged without an offset counts as stored")
    mutating func storedBefore() {
        var numbers: [UInt32] = []
        add("a")
        _ = publish(&numbers)
        _ = queue.stored(numbers[0], at: -1001, now: now)
        expect(queue.unstored, is: 0)
        expect(pop(), is: 1)
    }

    @Test("If the last answer is a success, a change that failed before is due at once")
    mutating func storedLast() {
        var numbers: [UInt32] = []
        for key in ["a", "b"] { add(key) }
        _ = publish(&numbers)
        queue.failed(numbers[0], isRefused: false, now)
        #expect(queue.due == nil)
        expect(queue.stored(numbers[1], at: 70, now: now), is: true)
        expect(publish(&numbers), is: ["a"])
    }

    @Test("A changelog that stores no change for more than a second is late")
    mutating func lateness() {
        var numbers: [UInt32] = []
        let second = Duration.milliseconds(1001)
        #expect(!queue.isLate(now + second))
        for key in ["a", "b", "c"] { add(key) }
        expect(publish(&numbers).count, is: 3)
        #expect(!queue.isLate(now + .seconds(1)))
        #expect(queue.isLate(now + second))
        _ = queue.stored(numbers[0], at: 70, now: now + .seconds(5))
        #expect(!queue.isLate(now + .seconds(6)))
        #expect(queue.isLate(now + .seconds(5) + second))
        for number in numbers[1...] { _ = queue.stored(number, at: 80, now: now + .seconds(7)) }
        #expect(!queue.isLate(now + .seconds(60)))
    }

    @Test("A change that is refused repeatedly backs off and alternates its own and its event's timestamp")
    mutating func refused() {
        var numbers: [UInt32] = []
        for key in ["a", "b"] { add(key) }
        _ = publish(&numbers)
        _ = queue.stored(numbers[1], at: 70, now: now)
        queue.failed(numbers[0], isRefused: true, now)
        var pauses: [UInt64] = []
        for round in 0..<9 {
            expect(queue.carriesEventTime, is: (round % 2 == 0))
            pauses.append(queue.due?.nanoseconds(since: now) ?? 0)
            expect(publish(&numbers, after: .seconds(5)), is: ["a"])
            queue.failed(numbers[0], isRefused: true, now)
        }
        expect(pauses, is: pauses.sorted())
        #expect(pauses[0] >= 50_000_000)
        expect(pauses[8], is: 1_600_000_000)
    }

    @Test("The other timestamp is tried only after a refusal, even of a change dropped since")
    mutating func times() {
        var numbers: [UInt32] = []
        add("a")
        for (isRefused, carriesEventTime) in [(false, false), (true, true), (false, true)] {
            expect(publish(&numbers, after: .seconds(5)), is: ["a"])
            queue.failed(numbers[0], isRefused: isRefused, now)
            expect(queue.carriesEventTime, is: carriesEventTime)
        }
        queue.removeAll()
        #expect(queue.carriesEventTime)
        for key in ["b", "c", "d", "e"] { add(key) }
        expect(publish(&numbers), is: ["b", "c", "d", "e"])
        queue.failed(numbers[3], isRefused: true, now)
        #expect(queue.carriesEventTime)
        _ = queue.stored(numbers[0], at: 70, now: now)
        _ = queue.stored(numbers[1], at: 71, now: now)
        expect(queue.stored(numbers[2], at: 72, now: now), is: true)
        #expect(!queue.carriesEventTime)
        expect(publish(&numbers), is: ["e"])
        _ = queue.stored(numbers[0], at: 73, now: now)
        for key in ["f", "g"] { add(key) }
        expect(publish(&numbers), is: ["f", "g"])
        queue.failed(numbers[0], isRefused: true, now)
        queue.removeAll()
        #expect(queue.carriesEventTime)
    }

    @Test("After brokers refuse a batch, perhaps for its size, half as many changes are in flight")
    mutating func batches() {
        var numbers: [UInt32] = []
        for key in ["a", "b", "c", "d", "e", "f", "g", "h"] { add(key) }
        expect(publish(&numbers).count, is: 8)
        for number in numbers { queue.failed(number, isRefused: true, now) }
        expect(publish(&numbers, after: .seconds(5)), is: ["a"])
        expect(queue.stored(numbers[0], at: 70, now: now), is: true)
        expect(publish(&numbers), is: ["b", "c", "d", "e"])
        for number in numbers { queue.failed(number, isRefused: true, now) }
        expect(publish(&numbers, after: .seconds(5)), is: ["b"])
        expect(queue.stored(numbers[0], at: 71, now: now), is: true)
        // Each stored change makes room for another.
        expect(publish(&numbers), is: ["c", "d"])
        let second = numbers[1]
        expect(queue.stored(numbers[0], at: 72, now: now), is: true)
        expect(publish(&numbers), is: ["e"])
        _ = queue.stored(second, at: 73, now: now)
        // The limit stays even if all counted changes are dropped, as with an aborted transaction.
        queue.removeCounted(now: now)
        for key in ["e", "f", "g", "h"] { add(key) }
        expect(publish(&numbers), is: ["e", "f"])
        // A change that is refused alone says nothing about batches.
        queue.removeAll()
        for _ in 0..<3 {
            add("i")
            expect(publish(&numbers, after: .seconds(5)), is: ["i"])
            queue.failed(numbers[0], isRefused: true, now)
            queue.removeAll()
        }
        for key in ["j", "k", "l"] { add(key) }
        expect(publish(&numbers), is: ["j", "k"])
    }

    @Test("An answer for a change that was dropped or not published is ignored")
    mutating func late() {
        var numbers: [UInt32] = []
        for key in ["a", "b"] { add(key) }
        _ = publish(&numbers)
        let former = numbers
        queue.removeAll()
        add("c")
        #expect(queue[former[0]] == nil)
        expect(publish(&numbers), is: ["c"])
        #expect(queue[former[1]] == nil)
        #expect(queue[numbers[0]] != nil)
        expect(queue.unstored, is: 1)
        // So is an answer for a change that is not published yet.
        add("d")
        #expect(queue[numbers[0] &+ 1] == nil)
    }

    @Test("Dropping counted changes keeps the rewrites, which are published again")
    mutating func counted() {
        var numbers: [UInt32] = []
        add("counted")
        add("again", .rewrite)
        expect(queue.rewrites, is: 1)
        _ = publish(&numbers)
        _ = queue.stored(numbers[1], at: 70, now: now)
        expect(queue.unstored, is: 1)
        let former = numbers
        queue.removeCounted(now: now)
        expect(queue.unstored, is: 1)
        expect(queue.rewrites, is: 1)
        #expect(queue[former[0]] == nil)
        expect(publish(&numbers), is: ["again"])
        #expect(!former.contains(numbers[0]))
    }

    @Test("Memory of removed changes is reused even if the queue is never empty")
    mutating func long() throws {
        var numbers: [UInt32] = []
        var waiting: [UInt32] = []
        for round in 0..<10_000 {
            add("key \(round)")
            expect(publish(&numbers), is: ["key \(round)"])
            waiting += numbers
            if waiting.count > 3 {
                _ = queue.stored(waiting.removeFirst(), at: Int64(round), now: now)
                expect(pop(), is: 1)
            }
        }
        expect(queue.unstored, is: 3)
        let list = Mirror(reflecting: queue).children.first { $0.label == "list" }?.value as? [ChangeQueue.Change]
        #expect(try #require(list).count < 4096)
    }
}
