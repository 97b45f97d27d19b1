import TestSupport
import Testing
import Worker

extension OrderKey {
    init(_ text: String) {
        self = Array(text.utf8).withUnsafeBytes { OrderKey(recipient: $0) }
    }
}

@Suite("Who waits for whom in a lane")
struct KeyOrderTests {
    private let alice = OrderKey("alice")
    private let bob = OrderKey("bob")

    @Test("A suspended message holds back its own key and no other")
    func ownKey() {
        var order = KeyOrder<Int>()
        #expect(order.isEmpty)
        order.hold(alice)
        #expect(!order.isEmpty)
        expectEqual(order.admit(alice, 1), .queued)
        expectEqual(order.admit(bob, 2), .run)
        expectEqual(order.admit(nil, 3), .run)
        #expect(order.waitingCount == 1)
    }

    @Test("What waited comes in order, one at a time, and the key is free after the last")
    func oneAtATime() {
        var order = KeyOrder<Int>()
        order.hold(alice)
        for number in 1...3 { expectEqual(order.admit(alice, number), .queued) }
        expectEqual(order.release(alice), 1)
        // 1 suspends in turn: what comes now waits behind the rest.
        expectEqual(order.admit(alice, 4), .queued)
        for number in 2...4 { expectEqual(order.release(alice), number) }
        #expect(!order.isEmpty)
        expectEqual(order.release(alice), nil)
        #expect(order.isEmpty && order.waitingCount == 0)
        expectEqual(order.admit(alice, 5), .run)
    }

    @Test("Messages without a key wait for none and hold none")
    func noKey() {
        var order = KeyOrder<Int>()
        order.hold(nil)
        #expect(order.isEmpty)
        expectEqual(order.release(nil), nil)
    }

    @Test("The ordering decides what counts as the same key")
    func orderings() {
        var table = InFlightTable(limit: 1, byteLimit: 1)
        let (first, second) = (table.openSlot(), table.openSlot())
        func key(_ ordering: Ordering, _ recipient: String?, _ slot: PartitionSlot) -> OrderKey? {
            guard let recipient else { return ordering.key(recipient: nil, slot: slot) }
            return Array(recipient.utf8).withUnsafeBytes { ordering.key(recipient: $0, slot: slot) }
        }
        #expect(key(.key, "alice", first) == key(.key, "alice", second))
        #expect(key(.key, "alice", first) != key(.key, "bob", first))
        #expect(key(.key, nil, first) == nil)
        #expect(key(.partition, "alice", first) == key(.partition, "bob", first))
        #expect(key(.partition, nil, first) != key(.partition, nil, second))
        #expect(key(.none, "alice", first) == nil)
    }

    @Test("Lanes get their share of keys, and a key always the same one")
    func lanes() {
        var counts = [0, 0, 0]
        for number in 0..<3_000 { counts[OrderKey("recipient \(number)").lane(of: 3)] += 1 }
        #expect(counts.allSatisfy { $0 > 800 })
        #expect(OrderKey("alice").lane(of: 7) == alice.lane(of: 7))
        #expect(alice.lane(of: 1) == 0)
    }

    @Test(
        "Random suspensions: each key runs in order and alone, and nothing waits without cause",
        arguments: [2, 20, 500])
    func model(keyCount: Int) throws {
        var random = SeededGenerator(seed: UInt64(keyCount))
        let keys = (0..<keyCount).map { OrderKey("\($0)") }
        var order = KeyOrder<(key: Int, number: Int)>()
        var queues = [[Int]](repeating: [], count: keyCount)
        var suspended: [Int] = []
        var started = [Int](repeating: -1, count: keyCount)
        var (next, waiting) = (0, 0)

        /// True when it suspends.
        func run(_ key: Int, _ number: Int) throws -> Bool {
            try #require(started[key] < number)
            started[key] = number
            return random.once(in: 3)
        }

        for _ in 0..<40_000 {
            let key = Int.random(in: 0..<keyCount, using: &random)
            if suspended.count > keyCount / 2 || random.once(in: 3), let ended = suspended.randomElement(using: &random)
            {
                suspended.removeAll { $0 == ended }
                while let item = order.release(keys[ended]) {
                    let expected = queues[ended].removeFirst()
                    try #require(item.key == ended && item.number == expected)
                    waiting -= 1
                    guard try run(ended, item.number) else { continue }
                    suspended.append(ended)
                    break
                }
                try #require(suspended.contains(ended) || queues[ended].isEmpty)
            } else {
                let admission = order.isEmpty ? .run : order.admit(keys[key], (key, next))
                try #require(admission == (suspended.contains(key) ? .queued : .run))
                if admission == .queued {
                    queues[key].append(next)
                    waiting += 1
                } else if try run(key, next) {
                    order.hold(keys[key])
                    suspended.append(key)
                }
                next += 1
            }
            try #require(order.isEmpty == suspended.isEmpty)
            try #require(order.waitingCount == waiting)
        }
    }
}
