/// Who waits for whom in one lane: a suspended message holds back the later ones of its own key and no other.
///
/// While nothing is held (`isEmpty`) the lane needs no key at all. Otherwise it asks `admit` before it runs a message;
/// `hold`s the key of one that suspends; and when that ends, `release`s the key, runs what it gets and, when that has
/// ended too, releases again, until there is nothing.
package struct KeyOrder<Item> {
    package enum Admission: Sendable {
        case run
        case queued
    }

    private struct Waiting {
        let item: Item
        var next: Slab<Waiting>.Handle?
    }

    private struct Queue {
        var first: Slab<Waiting>.Handle?
        var last: Slab<Waiting>.Handle?
    }

    private var held: [OrderKey: Queue] = [:]
    private var waiting = Slab<Waiting>()

    package init() {}

    package var isEmpty: Bool { held.isEmpty }

    /// Messages that wait for an earlier one of their key.
    package var waitingCount: Int { waiting.count }

    /// `run` leaves the item to the caller. Without a key it always runs.
    package mutating func admit(_ key: OrderKey?, _ item: @autoclosure () -> Item) -> Admission {
        guard let key, let index = held.index(forKey: key) else { return .run }
        let handle = waiting.insert(Waiting(item: item()))
        if let last = held.values[index].last {
            waiting[last]?.next = handle
        } else {
            held.values[index].first = handle
        }
        held.values[index].last = handle
        return .queued
    }

    /// The message of this key that was admitted to run has suspended.
    package mutating func hold(_ key: OrderKey?) {
        guard let key else { return }
        let former = held.updateValue(Queue(), forKey: key)
        precondition(former == nil, "a message ran while its key was held")
    }

    /// The message that held this key has ended. The next one is to be run now and holds the key until it is released
    /// in turn; nil when none waited, and the key is free.
    package mutating func release(_ key: OrderKey?) -> Item? {
        guard let key, let index = held.index(forKey: key) else { return nil }
        guard let first = held.values[index].first, let next = waiting.remove(first) else {
            held.remove(at: index)
            return nil
        }
        held.values[index].first = next.next
        if next.next == nil { held.values[index].last = nil }
        return next.item
    }
}
