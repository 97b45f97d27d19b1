/// One assignment of one partition: a small number that indexes what belongs to it, and a generation that tells it from
/// the assignment that had the number before.
package struct PartitionSlot: Hashable, Sendable {
    package let index: Int
    package let generation: UInt32
}

extension PartitionSlot {
    /// Both in one.
    var number: Int { Int(generation) << 32 | index }

    init(number: Int) { self.init(index: number & 0xFFFF_FFFF, generation: UInt32(truncatingIfNeeded: number >> 32)) }
}

/// Which slots are open. The number of a closed slot is given out again when the last of its deliveries has come back.
package struct PartitionSlots: Sendable {
    private struct Entry {
        var generation: UInt32 = 0
        var isOpen = false
        var outstanding = 0
    }

    private var entries: [Entry] = []

    package init() {}

    /// The lowest free number.
    package mutating func open() -> PartitionSlot {
        let free = entries.firstIndex { !$0.isOpen && $0.outstanding == 0 }
        let index = free ?? entries.count
        if free == nil { entries.append(Entry()) }
        entries[index].generation &+= 1
        entries[index].isOpen = true
        return PartitionSlot(index: index, generation: entries[index].generation)
    }

    /// Revoked or lost: from now on its results are late. Closing twice does nothing.
    package mutating func close(_ slot: PartitionSlot) {
        guard isOpen(slot) else { return }
        entries[slot.index].isOpen = false
    }

    /// False for results that are late: they must not count for whoever owns the partition now.
    package func isOpen(_ slot: PartitionSlot) -> Bool { isKnown(slot) && entries[slot.index].isOpen }

    /// By index; 0 for one that is not open.
    var openGenerations: [UInt32] { entries.map { $0.isOpen ? $0.generation : 0 } }

    /// Deliveries not yet back, also of a closed slot.
    package func outstanding(_ slot: PartitionSlot) -> Int { isKnown(slot) ? entries[slot.index].outstanding : 0 }

    mutating func add(_ change: Int, to slot: PartitionSlot) {
        precondition(isKnown(slot), "a delivery of a slot that is gone")
        entries[slot.index].outstanding += change
    }

    private func isKnown(_ slot: PartitionSlot) -> Bool {
        entries.indices.contains(slot.index) && entries[slot.index].generation == slot.generation
    }
}
