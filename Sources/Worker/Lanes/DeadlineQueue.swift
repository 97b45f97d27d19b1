/// Deadlines of suspended messages, the earliest first. Those that end in time are taken out, so that it is never longer
/// than what is suspended; no allocation once it has been as long before.
package struct DeadlineQueue<Time: Comparable, ID> {
    package struct Ticket: Hashable, Sendable {
        fileprivate let handle: Slab<Int>.Handle
    }

    private struct Entry {
        let time: Time
        let id: ID
        let handle: Slab<Int>.Handle
    }

    /// A binary heap.
    private var entries: [Entry] = []
    /// Where in the heap each entry is.
    private var indices = Slab<Int>()

    package init() {}

    package var count: Int { entries.count }

    package var earliest: Time? { entries.first?.time }

    package mutating func insert(_ id: ID, at time: Time) -> Ticket {
        let handle = indices.insert(entries.count)
        entries.append(Entry(time: time, id: id, handle: handle))
        rise(entries.count - 1)
        return Ticket(handle: handle)
    }

    /// False when it was cancelled or taken before.
    @discardableResult
    package mutating func cancel(_ ticket: Ticket) -> Bool {
        guard let index = indices.remove(ticket.handle) else { return false }
        _ = removeEntry(at: index)
        return true
    }

    /// The earliest that is due at `now`; call it until there is none.
    package mutating func next(dueAt now: Time) -> ID? {
        guard let first = entries.first, first.time <= now else { return nil }
        _ = indices.remove(first.handle)
        return removeEntry(at: 0)
    }

    private mutating func removeEntry(at index: Int) -> ID {
        exchange(index, entries.count - 1)
        let entry = entries.removeLast()
        if index < entries.count {
            rise(index)
            sink(index)
        }
        return entry.id
    }

    private mutating func rise(_ index: Int) {
        var index = index
        while index > 0, entries[index].time < entries[(index - 1) / 2].time {
            exchange(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            var least = index
            for child in 2 * index + 1...2 * index + 2
            where child < entries.count && entries[child].time < entries[least].time { least = child }
            guard least != index else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        indices[entries[left].handle] = left
        indices[entries[right].handle] = right
    }
}
