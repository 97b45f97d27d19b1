package import PushmillKafka
import PushmillStages

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
        /// The timestamp of the oldest record in flight, in milliseconds since 1970.
        package let oldest: Int64?
        /// That of the last one taken.
        package let lastTaken: Int64?
        /// It is read on from what was fetched last.
        package let isFetched: Bool
        /// Its counts are read from the changelog, or something else that it needs.
        package let isRestoring: Bool

        init<Ports: ShardPorts & ~Copyable>(
            _ partition: borrowing Partition<Ports>, oldest: Int64?, canTake: Bool
        ) {
            place = partition.place
            next = partition.isServed ? partition.ledger.next : nil
            inFlight = partition.ledger.inFlight
            isFetched = partition.state == .running
            isPaused = isFetched ? !canTake : partition.isServed
            self.oldest = oldest
            lastTaken = partition.timestamp > 0 ? partition.timestamp : nil
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
        let oldest = shard.oldestInFlight
        for index in shard.partitions.indices where shard.partitions[index].state != .gone {
            partitions.append(
                PartitionFigures(shard.partitions[index], oldest: oldest[Int(index)], canTake: canTake))
        }
    }

    package var restoring: Int { partitions.count { $0.isRestoring } }
}

extension Shard where Ports: ~Copyable {
    /// The timestamp of the oldest record in flight of each partition, by its number. Published in an open transaction is in
    /// flight too: nobody can read it yet. Looked for now and then, so that no message has to note anything.
    fileprivate var oldestInFlight: [Int64?] {
        var oldest = partitions.indices.map { partitions[$0].transactionStart }
        var left = entries.count
        var entry: UInt32 = 0
        while left > 0 {
            entry += 1
            guard entries[entry].state != .free else { continue }
            left -= 1
            let index = entries[entry].partition
            guard entries[entry].epoch == partitions[index].epoch else { continue }
            oldest[Int(index)] = min(oldest[Int(index)] ?? .max, time(of: entry))
        }
        return oldest
    }

    /// A record without a timestamp is as old as its taking.
    private func time(of entry: UInt32) -> Int64 {
        if entries[entry].timestamp > 0 { return entries[entry].timestamp }
        return ports.wallClock - Int64(clamping: now.nanoseconds(since: entries[entry].taken) / 1_000_000)
    }
}
