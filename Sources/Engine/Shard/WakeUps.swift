import PushmillStages

/// The wake-ups of suspended entries, the earliest first: a binary heap in which each entry knows its place.
struct WakeUps: ~Copyable {
    private var heap: [UInt32] = []

    var count: Int { heap.count }

    func earliest(_ entries: borrowing EntryTable) -> Instant { heap.first.map { entries[$0].wakeUp } ?? .never }

    mutating func insert(_ entry: UInt32, _ entries: inout EntryTable) {
        entries[entry].heapIndex = UInt32(heap.count)
        heap.append(entry)
        rise(heap.count - 1, &entries)
    }

    /// Does nothing for an entry that is not in the heap.
    mutating func remove(_ entry: UInt32, _ entries: inout EntryTable) {
        let place = Int(entries[entry].heapIndex)
        guard place < heap.count, heap[place] == entry else { return }
        exchange(place, heap.count - 1, &entries)
        heap.removeLast()
        entries[entry].heapIndex = .max
        guard place < heap.count else { return }
        rise(place, &entries)
        sink(place, &entries)
    }

    /// Removes and returns the earliest entry that is due; the caller repeats this until it is nil.
    mutating func next(dueAt now: Instant, _ entries: inout EntryTable) -> UInt32? {
        guard let first = heap.first, entries[first].wakeUp <= now else { return nil }
        remove(first, &entries)
        return first
    }

    private mutating func exchange(_ place: Int, _ other: Int, _ entries: inout EntryTable) {
        heap.swapAt(place, other)
        entries[heap[place]].heapIndex = UInt32(place)
        entries[heap[other]].heapIndex = UInt32(other)
    }

    private mutating func rise(_ place: Int, _ entries: inout EntryTable) {
        var place = place
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[heap[place]].wakeUp < entries[heap[parent]].wakeUp else { return }
            exchange(place, parent, &entries)
            place = parent
        }
    }

    private mutating func sink(_ place: Int, _ entries: inout EntryTable) {
        var place = place
        while true {
            var least = place
            for child in 2 * place + 1...2 * place + 2
            where child < heap.count && entries[heap[child]].wakeUp < entries[heap[least]].wakeUp { least = child }
            guard least != place else { return }
            exchange(place, least, &entries)
            place = least
        }
    }
}
