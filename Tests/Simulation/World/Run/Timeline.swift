/// A simulated clock and its events, ordered by time, then by when they were added.
package final class Timeline {
    private struct Key {
        let time: UInt64
        let sequence: UInt64
        let slot: Int

        static func < (left: Key, right: Key) -> Bool {
            left.time != right.time ? left.time < right.time : left.sequence < right.sequence
        }
    }

    /// Nanoseconds. A run begins one second after the clock's zero.
    package private(set) var now: UInt64 = 1_000_000_000
    package private(set) var steps = 0
    package var dice: Dice
    package let history: History
    private var heap: [Key] = []
    private var bodies: [(() -> Void)?] = []
    private var free: [Int] = []
    private var sequence: UInt64 = 0

    package init(dice: Dice, history: History = History(isKept: false)) {
        self.dice = dice
        self.history = history
    }

    package var nextTime: UInt64? { heap.first?.time }

    package func at(_ time: UInt64, _ body: @escaping () -> Void) {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            bodies[slot] = body
        } else {
            slot = bodies.count
            bodies.append(body)
        }
        sequence += 1
        heap.append(Key(time: max(time, now), sequence: sequence, slot: slot))
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index] < heap[parent] else { break }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    package func after(_ delay: UInt64, _ body: @escaping () -> Void) { at(now &+ delay, body) }

    /// Runs the next event. False if there is none.
    package func step() -> Bool {
        guard let first = heap.first else { return false }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        now = first.time
        steps += 1
        let body = bodies[first.slot]
        bodies[first.slot] = nil
        free.append(first.slot)
        body?()
        return true
    }

    private func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    /// Runs until the condition holds or that time comes, to which the clock then advances.
    package func run(until time: UInt64 = .max, or condition: () -> Bool = { false }) {
        while !condition(), let next = nextTime, next <= time { _ = step() }
        if !condition(), time != .max { now = max(now, time) }
    }

    /// Drops all pending events, which retain the objects that they would act on.
    package func clear() {
        heap = []
        bodies = []
        free = []
    }

    package func note(_ who: Int, _ what: History.What, _ first: Int64 = 0, _ second: Int64 = 0, _ third: Int64 = 0) {
        history.add(now, who, what, first, second, third)
    }
}

extension UInt64 {
    package static func microseconds(_ count: UInt64) -> UInt64 { count * 1_000 }
    package static func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }
    package static func seconds(_ count: UInt64) -> UInt64 { count * 1_000_000_000 }
}
