import Engine
import Kafka
import Stores

extension Flow {
    struct Partition: Sendable {
        let place: TopicPartition
        let slot: PartitionSlot
        var ledger: OffsetLedger
        /// What was committed last; where it began before that.
        var committed: OffsetLedger.Snapshot
        /// Revoked, or the process ends: nothing more of it is taken.
        var isDraining = false
        /// False where the first record decides where it begins.
        let isPositionKnown: Bool
    }

    struct State: ~Copyable, Sendable {
        var table: InFlightTable
        /// By the index of their slots.
        var partitions: [Partition?] = []
        /// What the next checkpoint has; empty where nothing is counted.
        var pending = PendingCheckpoint()
        /// Those that are gone and had records in flight then.
        var departed: [Partition] = []

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
}

extension Flow.Partition {
    /// The slot may have been given to another assignment since.
    mutating func complete(_ offset: Int64, of slot: PartitionSlot) -> Bool {
        slot == self.slot && ledger.complete(offset)
    }

    var position: PartitionPosition {
        let snapshot = ledger.snapshot()
        return PartitionPosition(Position(place, offset: snapshot.offset, metadata: snapshot.metadata))
    }
}

extension PartitionPosition {
    init(_ position: Position) {
        self.init(
            topic: position.partition.topic, partition: position.partition.partition, next: position.offset,
            metadata: position.metadata)
    }
}
