import Engine
import Kafka
import Push
import Stores
import Synchronization

/// What every thread of the worker must agree on: what is in flight, and how far each partition is. Locked once for a
/// batch, never for a message.
final class Flow: Sendable {
    private let state: Mutex<State>
    /// Where nothing is counted there is none.
    private let changes: ChangeTable?
    /// How many slots have been closed: a lane that has seen as many need not ask before it publishes.
    private let closedSlots = Atomic<Int>(0)
    /// How many times partitions went away with something that was not committed.
    private let lossCount = Atomic<Int>(0)
    /// The intake waits for room.
    private let isRoomWanted = Atomic<Bool>(false)

    init(limit: Int, byteLimit: Int, counts: Bool) {
        changes = counts ? ChangeTable(limit: limit) : nil
        state = Mutex(State(table: InFlightTable(limit: limit, byteLimit: byteLimit)))
    }

    func withState<Result: Sendable>(_ body: (inout sending State) -> sending Result) -> Result {
        state.withLock(body)
    }

    // MARK: Assignments

    func open(_ place: TopicPartition, ledger: OffsetLedger, isPositionKnown: Bool) -> PartitionSlot {
        state.withLock { state in
            let slot = state.table.openSlot()
            let partition = Partition(
                place: place, slot: slot, ledger: ledger, committed: ledger.snapshot(), isPositionKnown: isPositionKnown
            )
            state[slot] = partition
            if changes != nil, isPositionKnown { state.pending.add(partition.position) }
            return slot
        }
    }

    /// Late results of these slots are dropped from now on.
    func fence(_ slots: [PartitionSlot]) {
        state.withLock { state in for slot in slots { state.table.close(slot) } }
        closedSlots.wrappingAdd(slots.count, ordering: .sequentiallyConsistent)
    }

    /// They belong to somebody else. What was acknowledged of them stays part of the counts.
    func end(_ slots: [PartitionSlot]) {
        state.withLock { state in
            for slot in slots {
                guard let partition = state[slot] else { continue }
                state[slot] = nil
                let isUnanswered = state.table.slots.outstanding(slot) > 0
                // What was published and is not acknowledged yet may be stored all the same.
                if partition.ledger.isDirty || isUnanswered { noteLoss() }
                guard changes != nil else { continue }
                if partition.isPositionKnown || partition.ledger.isDirty { state.pending.add(partition.position) }
                if isUnanswered { state.departed.append(partition) }
            }
        }
    }

    /// Others may do again what was published of a partition and not committed.
    func noteLoss() { lossCount.wrappingAdd(1, ordering: .relaxed) }

    var losses: Int { lossCount.load(ordering: .relaxed) }

    /// Its log has begun anew; what is in flight of the old one goes on.
    func forget(_ slot: PartitionSlot) { state.withLock { state in state[slot] = nil } }

    func drain(_ slots: [PartitionSlot]) {
        state.withLock { state in for slot in slots { state[slot]?.isDraining = true } }
    }

    /// Records of these partitions that are taken and not done.
    func unfinished(_ slots: [PartitionSlot]) -> Int {
        state.withLock { state in slots.reduce(0) { $0 + (state[$1]?.ledger.inFlight ?? 0) } }
    }

    /// A window that was full has room for this offset again, and to spare. With nothing in flight it takes any.
    func hasMoved(_ slot: PartitionSlot, for offset: Int64, metadataLimit: Int) -> Bool {
        state.withLock { state in
            guard let ledger = state[slot]?.ledger, ledger.inFlight > 0 else { return true }
            return offset - ledger.position < OffsetLedger.spanLimit / 2
                && ledger.metadataSizeBound < metadataLimit / 4 * 3
        }
    }

    var closings: Int { closedSlots.load(ordering: .relaxed) }

    /// For a thread to remember: it holds as long as `closings` is what it was.
    var openSlots: OpenSlots { state.withLock { OpenSlots($0.table.slots, closings: closings) } }

    // MARK: Ends

    /// Records whose output is acknowledged, or that have none. Tells whether the intake should be woken.
    func complete(_ tickets: some Sequence<InFlightTable.Ticket>) -> Bool {
        let isRelieved = state.withLock { state in
            for ticket in tickets {
                guard let delivery = state.table.remove(ticket) else { continue }
                if let change = changes?.take(ticket) {
                    let isGivenUp = state[delivery.slot] == nil && !state.table.slots.isOpen(delivery.slot)
                    Self.settle(change, of: delivery, isGivenUp, &state.pending.counts, &state.partitions)
                } else {
                    _ = state.partitions[delivery.slot.index]?.complete(delivery.offset, of: delivery.slot)
                }
            }
            return state.table.isRelieved
        }
        return isRelieved && isRoomWanted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Records given up unpublished: another owner will do them.
    func abandon(_ tickets: some Sequence<InFlightTable.Ticket>) {
        state.withLock { state in
            for ticket in tickets {
                guard let delivery = state.table.remove(ticket), let change = changes?.take(ticket) else { continue }
                Self.settle(change, of: delivery, true, &state.pending.counts, &state.partitions)
            }
        }
    }

    private static func settle(
        _ change: BadgeChange, of delivery: InFlightTable.Delivery, _ isGivenUp: Bool,
        _ counts: inout SettledCounts, _ partitions: inout [Partition?]
    ) {
        let source = SourceOffset(assignment: delivery.slot.number, offset: delivery.offset)
        func release(_ source: SourceOffset) {
            let slot = PartitionSlot(number: source.assignment)
            _ = partitions[slot.index]?.complete(source.offset, of: slot)
        }
        if isGivenUp {
            counts.giveUp(change, of: source, release: release)
        } else {
            counts.acknowledge(change, of: source, release: release)
        }
    }

    /// Called by whoever has the ticket, before its message is published.
    func note(_ change: BadgeChange, of ticket: InFlightTable.Ticket) { changes?.put(change, for: ticket) }

    func hasChange(_ ticket: InFlightTable.Ticket) -> Bool { changes?.has(ticket) ?? false }

    /// Where a record in flight came from; nil when its partition has gone.
    func origin(of ticket: InFlightTable.Ticket) -> (position: Position, slot: PartitionSlot)? {
        state.withLock { state in
            guard let delivery = state.table[ticket], let partition = state[delivery.slot] else { return nil }
            return (Position(partition.place, offset: delivery.offset), delivery.slot)
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

    /// One moment: how far partitions are, and the counts that go with that.
    struct Cut: ~Copyable, Sendable {
        let marks: [Mark]
        let losses: Int
        let batch: CheckpointBatch
    }

    /// How far the given partitions are (all for nil), where that has changed since it was last committed. Its batch ends
    /// in `saved` or `putBack` before the next cut.
    func cut(_ slots: [PartitionSlot]?) -> Cut {
        state.withLock { state in
            var marks = state.partitions.compactMap { partition -> Mark? in
                guard let partition, partition.ledger.isDirty else { return nil }
                return Mark(place: partition.place, slot: partition.slot, snapshot: partition.ledger.snapshot())
            }
            if changes != nil {
                for mark in marks { state.pending.add(PartitionPosition(mark.position)) }
            }
            if let slots { marks.removeAll { !slots.contains($0.slot) } }
            return Cut(marks: marks, losses: losses, batch: state.pending.take())
        }
    }

    func saved(_ batch: consuming CheckpointBatch, in checkpoint: UInt32) {
        var batch = Optional(batch)
        state.withLock { state in
            if let batch = batch.take() { state.pending.saved(batch, in: checkpoint) }
        }
    }

    func putBack(_ batch: consuming CheckpointBatch) {
        var batch = Optional(batch)
        state.withLock { state in
            if let batch = batch.take() { state.pending.putBack(batch) }
        }
    }

    func unsavedPosition(of place: TopicPartition) -> PartitionPosition? {
        state.withLock { $0.pending.position(of: place.topic, place.partition) }
    }

    /// Whether nothing is in flight any more of earlier assignments of these partitions: until then it is not known what
    /// their recipients' counts are.
    func isSettled(_ places: [TopicPartition]) -> Bool {
        state.withLock { state in
            state.departed.removeAll { [slots = state.table.slots] in slots.outstanding($0.slot) == 0 }
            return !state.departed.contains { places.contains($0.place) }
        }
    }

    func committed(_ marks: [Mark]) {
        state.withLock { state in
            for mark in marks {
                state[mark.slot]?.ledger.committed(mark.snapshot)
                state[mark.slot]?.committed = mark.snapshot
            }
        }
    }

    /// Where a partition goes on when what was done since the last commit has come to nothing.
    func lastCommitted(_ slot: PartitionSlot) -> PartitionStart? {
        guard let partition = state.withLock({ $0[slot] }) else { return nil }
        let (offset, metadata) = (partition.committed.offset, partition.committed.metadata)
        switch CommittedPosition(Position(partition.place, offset: offset, metadata: metadata)) {
        case .ours(let start), .foreign(let start, _): return start
        case .nothing: return nil
        }
    }

    /// What was counted since the last commit has come to nothing. What is still in flight is of slots that have ended.
    func rollBack() { state.withLock { $0.pending.counts.rollBack() } }

    /// Whether anything was done since the last commit.
    var isDirty: Bool { state.withLock { $0.partitions.contains { $0?.ledger.isDirty == true } } }

    /// Whether nothing is left to do of a record. Of a partition that waits to be read again that is not known.
    func isDone(_ record: Position) -> Bool {
        state.withLock { state in
            let partition = state.partitions.lazy.compactMap(\.self).first { $0.place == record.partition }
            return partition?.ledger.isCompleted(record.offset) ?? false
        }
    }
}
