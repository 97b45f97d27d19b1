import PushmillStages

/// Which entries wait for an earlier one of their key: a queue for each key that is held, linked through the entries.
/// While nothing is held no message needs its key.
struct KeyOrder: ~Copyable {
    private struct Queue {
        var first: UInt32 = 0
        var last: UInt32 = 0
    }

    private var held: [UInt64: Queue] = [:]

    var isEmpty: Bool { held.isEmpty }

    /// True when the key is held: the entry waits behind those that do already.
    mutating func wait(_ entry: UInt32, _ entries: inout EntryTable) -> Bool {
        guard let index = held.index(forKey: entries[entry].key) else { return false }
        entries[entry].next = 0
        let last = held.values[index].last
        if last == 0 { held.values[index].first = entry } else { entries[last].next = entry }
        held.values[index].last = entry
        return true
    }

    /// The running entry of this key has suspended.
    mutating func hold(_ entry: UInt32, _ entries: inout EntryTable) {
        guard !entries[entry].holdsKey else { return }
        entries[entry].holdsKey = true
        let former = held.updateValue(Queue(), forKey: entries[entry].key)
        precondition(former == nil, "a message ran while its key was held")
    }

    /// The entry that held its key has ended: the next one holds it now, and is to run; 0 when there is none.
    mutating func release(_ entry: UInt32, _ entries: inout EntryTable) -> UInt32 {
        guard entries[entry].holdsKey, let index = held.index(forKey: entries[entry].key) else { return 0 }
        entries[entry].holdsKey = false
        let next = held.values[index].first
        guard next != 0 else {
            held.remove(at: index)
            return 0
        }
        held.values[index].first = entries[next].next
        if entries[next].next == 0 { held.values[index].last = 0 }
        entries[next].next = 0
        entries[next].holdsKey = true
        return next
    }

    /// Takes out every entry of the partition that waits and is of an earlier epoch.
    mutating func removeWaiting(_ entries: inout EntryTable, of partition: Int32, before epoch: UInt32) {
        for key in held.keys.sorted() {
            var kept = Queue()
            var entry = held[key]?.first ?? 0
            while entry != 0 {
                let next = entries[entry].next
                entries[entry].next = 0
                if entries[entry].partition != partition || entries[entry].epoch == epoch {
                    if kept.last == 0 { kept.first = entry } else { entries[kept.last].next = entry }
                    kept.last = entry
                }
                entry = next
            }
            held[key] = kept
        }
    }
}

/// The wake-ups of suspended entries, the earliest first: a binary heap of entries that know their places in it.
struct WakeUps: ~Copyable {
    private var heap: [UInt32] = []

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }

    func earliest(_ entries: borrowing EntryTable) -> Instant { heap.first.map { entries[$0].wakeUp } ?? .never }

    mutating func insert(_ entry: UInt32, _ entries: inout EntryTable) {
        entries[entry].place = UInt32(heap.count)
        heap.append(entry)
        rise(heap.count - 1, &entries)
    }

    /// Nothing for one that is not in it.
    mutating func remove(_ entry: UInt32, _ entries: inout EntryTable) {
        let place = Int(entries[entry].place)
        guard place < heap.count, heap[place] == entry else { return }
        entries[entry].place = .max
        let last = heap.removeLast()
        guard last != entry else { return }
        put(last, at: place, &entries)
        rise(place, &entries)
        sink(place, &entries)
    }

    /// The earliest that is due; call it until there is none.
    mutating func next(dueAt now: Instant, _ entries: inout EntryTable) -> UInt32? {
        guard let first = heap.first, entries[first].wakeUp <= now else { return nil }
        remove(first, &entries)
        return first
    }

    private mutating func put(_ entry: UInt32, at place: Int, _ entries: inout EntryTable) {
        heap[place] = entry
        entries[entry].place = UInt32(place)
    }

    private mutating func rise(_ place: Int, _ entries: inout EntryTable) {
        var place = place
        while place > 0 {
            let parent = (place - 1) / 2
            let (entry, other) = (heap[place], heap[parent])
            guard entries[entry].wakeUp < entries[other].wakeUp else { return }
            put(other, at: place, &entries)
            put(entry, at: parent, &entries)
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
            let (entry, other) = (heap[place], heap[least])
            put(other, at: place, &entries)
            put(entry, at: least, &entries)
            place = least
        }
    }
}
