package import Kafka

/// What a shard shows of itself to others: a copy.
package struct ShardFigures: Sendable {
    package struct PartitionFigures: Sendable {
        package let place: TopicPartition
        /// The next offset to be taken; nil before it is served.
        package let next: Int64?
        /// Taken and not done.
        package let inFlight: Int
        /// Nothing is taken of it for now.
        package let isPaused: Bool
        /// Its counts are read from the changelog, or something else that it needs.
        package let isRestoring: Bool

        init<Ports: ShardPorts & ~Copyable>(_ partition: borrowing Partition<Ports>, canTake: Bool) {
            place = partition.place
            next = partition.isServed ? partition.ledger.next : nil
            inFlight = partition.ledger.inFlight
            if case .running = partition.state { isPaused = !canTake } else { isPaused = partition.isServed }
            isRestoring = partition.state == .restoring
        }
    }

    package var inFlight = 0
    package var inFlightBytes = 0
    package var isInitialized = false
    package var canPublish = true
    package var hasRoom = true
    package var partitions: [PartitionFigures] = []

    init() {}

    init<Ports: ShardPorts & ~Copyable>(_ shard: borrowing Shard<Ports>) {
        inFlight = shard.entries.count
        inFlightBytes = shard.entries.byteCount
        isInitialized = shard.checkpoint.isInitialized
        canPublish = shard.outputs.isIdle && !shard.isReplacingProducer
        hasRoom = shard.hasRoom
        let canTake = shard.canRun && hasRoom
        for index in shard.partitions.indices where shard.partitions[index].state != .gone {
            partitions.append(PartitionFigures(shard.partitions[index], canTake: canTake))
        }
    }

    package var restoring: Int { partitions.count { $0.isRestoring } }
}
