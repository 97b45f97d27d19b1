import Kafka
import Push
import Synchronization

/// What every thread of the worker must agree on: what is in flight, and how far each partition is. Locked once for a
/// batch, never for a message.
final class Flow: Sendable {
    struct Partition: Sendable {
        let place: TopicPartition
        let slot: PartitionSlot
        var ledger: OffsetLedger
        /// Revoked, or the process ends: nothing more of it is taken.
        var isDraining = false
    }

    struct State: Sendable {
        var table: InFlightTable
        /// By the index of their slots.
        var partitions: [Partition?] = []

        subscript(slot: PartitionSlot) -> Partition? {
            get {
                guard partitions.indices.contains(slot.index), let found = partitions[slot.index] else { return nil }
                return found.slot == slot ? found : nil
            }
            set {
                while partitions.count <= slot.index { partitions.append(nil) }
                partitions[slot.index] = newValue
            }
        }
    }

    private let state: Mutex<State>
    /// How many slots have been closed: a lane that has seen as many need not ask before it publishes.
    private let closedSlots = Atomic<Int>(0)
    /// The intake waits for room.
    private let isRoomWanted = Atomic<Bool>(false)

    init(limit: Int, byteLimit: Int) {
        state = Mutex(State(table: InFlightTable(limit: limit, byteLimit: byteLimit)))
    }

    func withState<Result: Sendable>(_ body: (inout sending State) -> sending Result) -> Result {
        state.withLock(body)
    }

    // MARK: Assignments

    func open(_ place: TopicPartition, ledger: OffsetLedger) -> PartitionSlot {
        state.withLock { state in
            let slot = state.table.openSlot()
            state[slot] = Partition(place: place, slot: slot, ledger: ledger)
            return slot
        }
    }

    /// Late results of these slots are dropped from now on.
    func fence(_ slots: [PartitionSlot]) {
        state.withLock { state in for slot in slots { state.table.close(slot) } }
        closedSlots.wrappingAdd(slots.count, ordering: .sequentiallyConsistent)
    }

    func forget(_ slots: [PartitionSlot]) {
        state.withLock { state in for slot in slots where state[slot] != nil { state[slot] = nil } }
    }

    func drain(_ slots: [PartitionSlot]) {
        state.withLock { state in for slot in slots { state[slot]?.isDraining = true } }
    }

    /// Records of these partitions that are taken and not done.
    func unfinished(_ slots: [PartitionSlot]) -> Int {
        state.withLock { state in slots.reduce(0) { $0 + (state[$1]?.ledger.inFlight ?? 0) } }
    }

    /// A window that was full has room for this offset again, and to spare.
    func hasMoved(_ slot: PartitionSlot, for offset: Int64) -> Bool {
        state.withLock { state in state[slot].map { offset - $0.ledger.position < OffsetLedger.spanLimit / 2 } ?? true }
    }

    var closings: Int { closedSlots.load(ordering: .relaxed) }

    func isOpen(_ slot: PartitionSlot) -> Bool { state.withLock { $0.table.slots.isOpen(slot) } }

    // MARK: Ends

    /// Records whose output is acknowledged, or that have none. Tells whether the intake should be woken.
    func complete(_ tickets: some Sequence<InFlightTable.Ticket>) -> Bool {
        let isRelieved = state.withLock { state in
            for ticket in tickets {
                guard let delivery = state.table.remove(ticket) else { continue }
                _ = state.partitions[delivery.slot.index]?.complete(delivery)
            }
            return state.table.isRelieved
        }
        return isRelieved && isRoomWanted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Records given up unpublished: another owner will do them.
    func abandon(_ tickets: some Sequence<InFlightTable.Ticket>) {
        state.withLock { state in for ticket in tickets { _ = state.table.remove(ticket) } }
    }

    /// Where a record in flight came from; nil when its partition has gone.
    func origin(of ticket: InFlightTable.Ticket) -> Position? {
        state.withLock { state in
            guard let delivery = state.table[ticket], let partition = state[delivery.slot] else { return nil }
            return Position(partition.place, offset: delivery.offset)
        }
    }

    func wantRoom() { isRoomWanted.store(true, ordering: .releasing) }

    var inFlight: (count: Int, bytes: Int) { state.withLock { ($0.table.count, $0.table.byteCount) } }

    // MARK: Commits

    struct Mark: Sendable {
        let place: TopicPartition
        let slot: PartitionSlot
        let snapshot: OffsetLedger.Snapshot

        var position: Position { Position(place, offset: snapshot.offset, metadata: snapshot.metadata) }
    }

    /// How far the given partitions are (all for nil), where that has changed since it was last committed.
    func marks(of slots: [PartitionSlot]? = nil) -> [Mark] {
        state.withLock { state in
            state.partitions.compactMap { partition in
                guard let partition, partition.ledger.isDirty, slots?.contains(partition.slot) ?? true else {
                    return nil
                }
                return Mark(place: partition.place, slot: partition.slot, snapshot: partition.ledger.snapshot())
            }
        }
    }

    func committed(_ marks: [Mark]) {
        state.withLock { state in for mark in marks { state[mark.slot]?.ledger.committed(mark.snapshot) } }
    }
}

extension Flow.Partition {
    /// The slot may have been given to another assignment since.
    fileprivate mutating func complete(_ delivery: InFlightTable.Delivery) -> Bool {
        delivery.slot == slot && ledger.complete(delivery.offset)
    }
}
