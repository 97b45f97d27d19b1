/// The slots that were open at one moment, so that a thread need not ask for each message.
struct OpenSlots {
    private let closings: Int
    /// By the index of the slot; 0 where none was open.
    private let generations: [UInt32]

    /// Knows of none.
    init() {
        closings = -1
        generations = []
    }

    /// `closings` is how many slots had been closed by then.
    init(_ slots: PartitionSlots, closings: Int) {
        self.closings = closings
        generations = slots.openGenerations
    }

    /// False also for one that was opened later, and for all of them when one has been closed since.
    func contains(_ slot: PartitionSlot, closings: Int) -> Bool { closings == self.closings && contains(slot) }

    /// At that moment.
    func contains(_ slot: PartitionSlot) -> Bool {
        slot.index < generations.count && generations[slot.index] == slot.generation
    }
}
