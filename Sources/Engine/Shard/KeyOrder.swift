import PushmillStages

/// Entries that wait for an earlier one of their key: one queue per held key, linked through the entries. While no key
/// is held, no message needs its key.
struct KeyOrder: ~Copyable {
    private struct Queue {
        let holder: UInt32
        var first: UInt32 = 0
        var last: UInt32 = 0
        var count = 0
    }

    private var held: [UInt64: Queue] = [:]
    /// Entries that wait for their key.
    private(set) var waiting = 0

    var isEmpty: Bool { held.isEmpty }

    /// True if the key is held: the entry is queued behind those that wait already.
    mutating func wait(_ entry: UInt32, _ entries: inout EntryTable) -> Bool {
        guard let index = held.index(forKey: entries[entry].key) else { return false }
        entries[entry].next = 0
        let last = held.values[index].last
        if last == 0 { held.values[index].first = entry } else { entries[last].next = entry }
        held.values[index].last = entry
        held.values[index].count += 1
        waiting += 1
        return true
    }

    /// The entry, which was suspended or whose output is held, holds its key from now on.
    mutating func hold(_ entry: UInt32, _ entries: inout EntryTable) {
        guard !entries[entry].holdsKey, entries[entry].key != 0 else { return }
        entries[entry].holdsKey = true
        let former = held.updateValue(Queue(holder: entry), forKey: entries[entry].key)
        precondition(former == nil, "a message ran while its key was held")
    }

    /// The entry gives up its key. Returns the next entry, which holds the key and is to run; 0 if there is none.
    mutating func release(_ entry: UInt32, _ entries: inout EntryTable) -> UInt32 {
        guard entries[entry].holdsKey, let index = held.index(forKey: entries[entry].key) else { return 0 }
        entries[entry].holdsKey = false
        let next = held.values[index].first
        guard next != 0 else {
            held.remove(at: index)
            return 0
        }
        let queue = held.values[index]
        let second = entries[next].next
        held.values[index] = Queue(
            holder: next, first: second, last: second == 0 ? 0 : queue.last, count: queue.count - 1)
        entries[next].next = 0
        entries[next].holdsKey = true
        waiting -= 1
        return next
    }

    /// Brokers have held up the output of the entry, which holds its key, since then: the entries behind it count as
    /// taken that much later.
    func putOff(behind entry: UInt32, since: Instant, to now: Instant, _ entries: inout EntryTable) {
        guard entries[entry].holdsKey, var next = held[entries[entry].key]?.first else { return }
        while next != 0 {
            entries[next].putOff(since: since, to: now)
            next = entries[next].next
        }
    }

    /// Entries that wait for the stage of another, `least` or more for the same one, are late from now on, and so is
    /// that one: of the partition, or of all if it is nil. Returns those with such a stage, and how many wait for them.
    func hurry(
        _ partition: Int32?, least: Int, _ entries: inout EntryTable
    ) -> (suspended: [UInt32], waiting: Int) {
        var (suspended, waiting): ([UInt32], Int) = ([], 0)
        for queue in held.values where queue.count >= least {
            let holder = queue.holder
            guard entries[holder].state == .suspended, !entries[holder].isLate,
                partition == nil || entries[holder].partition == partition
            else { continue }
            entries[holder].isLate = true
            var next = queue.first
            while next != 0 {
                entries[next].isLate = true
                next = entries[next].next
            }
            suspended.append(holder)
            waiting += queue.count
        }
        return (suspended, waiting)
    }

    /// Removes every waiting entry of the partition.
    mutating func removeWaiting(_ entries: inout EntryTable, of partition: Int32) {
        // An abort calls this for each of its partitions, and every message that waits for a stage holds a key.
        guard waiting > 0 else { return }
        var index = held.startIndex
        while index != held.endIndex {
            var kept = Queue(holder: held.values[index].holder)
            var entry = held.values[index].first
            while entry != 0 {
                let next = entries[entry].next
                entries[entry].next = 0
                if entries[entry].partition != partition {
                    if kept.last == 0 { kept.first = entry } else { entries[kept.last].next = entry }
                    kept.last = entry
                    kept.count += 1
                } else {
                    waiting -= 1
                }
                entry = next
            }
            held.values[index] = kept
            held.formIndex(after: &index)
        }
    }
}
