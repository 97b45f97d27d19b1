package import Kafka

/// What a shard shows of itself to others: a copy, made once a turn.
package struct ShardFigures: Sendable {
    package struct PartitionFigures: Sendable {
        package let place: TopicPartition
        /// The next offset to be taken; nil before it is served.
        package let next: Int64?
        package let unfinished: Int
        package let isWaiting: Bool
        package let isRestoring: Bool
    }

    package var inFlight = 0
    package var inFlightBytes = 0
    package var isInitialized = false
    package var canPublish = true
    package var partitions: [PartitionFigures] = []

    init() {}

    init<Ports: ShardPorts & ~Copyable>(_ shard: borrowing Shard<Ports>) {
        inFlight = shard.entries.count
        inFlightBytes = shard.entries.byteCount
        isInitialized = shard.checkpoint.isInitialized
        canPublish = shard.outputs.isIdle && !shard.isReplacingProducer
    }
}
