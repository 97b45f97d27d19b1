package import PushmillKafka

/// Observes what is stored and committed.
package protocol ClusterWitness: AnyObject {
    func stored(_ entry: PartitionLog.Entry, in log: PartitionLog)
    /// The group has committed these. `transaction`: the transaction they are part of; 0 for none.
    func committed(_ positions: [Position], transaction: Int)
    /// A member has lost its partitions and does not know it yet.
    func expelled()
}

/// The brokers: logs, the transaction coordinator and the group coordinator. Everything here takes no time; the
/// connections to the clients add delays and losses.
package final class Cluster {
    /// Milliseconds that a record may be ahead of the brokers' clock: the default of newer brokers.
    package static let latestTimestamp: Int64 = 3_600_000
    /// The brokers' clock at the timeline's zero.
    static let epoch: Int64 = 1_700_000_000_000

    package let timeline: Timeline
    package let topics: [String]
    package private(set) var logs: [[PartitionLog]] = []
    package private(set) var partitions: [[TopicPartition]] = []
    package private(set) var transactions: TransactionCoordinator
    package private(set) var group: GroupCoordinator
    /// No broker answers.
    package private(set) var isOut = false
    package weak var witness: (any ClusterWitness)?
    private var producers: Int32 = 0

    /// The group reads the first `inputs` topics.
    package init(timeline: Timeline, topics: [String], partitions count: Int, inputs: Int, timing: GroupTiming) {
        self.timeline = timeline
        self.topics = topics
        transactions = TransactionCoordinator(timeline: timeline)
        group = GroupCoordinator(timeline: timeline, timing: timing)
        for (index, name) in topics.enumerated() {
            logs.append((0..<Int32(count)).map { PartitionLog(topic: index, partition: $0, cluster: self) })
            partitions.append((0..<Int32(count)).map { TopicPartition(name, $0) })
        }
        group.partitions = partitions.prefix(inputs).flatMap { $0 }
        transactions.cluster = self
        group.cluster = self
    }

    /// Milliseconds since 1970, by the brokers' clock.
    package var wallClock: Int64 { Self.epoch + Int64(timeline.now / 1_000_000) }

    package func log(_ partition: TopicPartition) -> PartitionLog? {
        guard let topic = topics.firstIndex(of: partition.topic),
            logs[topic].indices.contains(Int(partition.partition))
        else { return nil }
        return logs[topic][Int(partition.partition)]
    }

    package func newProducer() -> Int32 {
        producers += 1
        return producers
    }

    package func setOut(_ isOut: Bool) {
        self.isOut = isOut
        group.setOut(isOut)
        guard !isOut else { return }
        for topic in logs { for log in topic { log.changed() } }
    }

    /// Breaks the reference cycles between the parts of a run.
    package func letGo() {
        for topic in logs { for log in topic { log.letGo() } }
        group.letGo()
    }
}
