/// Every metric of the service, resolved. What a lane counts for each message is in its `MetricsShard`; the rest is
/// counted here, from any thread.
public final class ServiceMetrics: Sendable {
    let published: [Counter]
    let deadLetters: [Counter]
    let stages: [StageMetrics]
    public let messageSeconds: Histogram
    public let endToEndSeconds: Histogram

    private let consumed: MetricFamily<Counter>
    public let inFlightMessages: Gauge
    public let inFlightBytes: Gauge
    private let lag: MetricFamily<Gauge>
    private let paused: MetricFamily<Gauge>
    public let checkpointSeconds: Histogram
    public let checkpointFailures: Counter
    /// Partitions found where counts may be stale, because another instance had served them.
    public let stalePartitions: Counter
    public let partitionsAssigned: Counter
    public let partitionsRevoked: Counter
    public let partitionsLost: Counter
    public let producerQueueMessages: Gauge
    public let producerQueueBytes: Gauge
    private let reloads: MetricFamily<Counter>

    /// Stages by name in their order; outcomes and reasons as labels, in the order of the indices by which they are
    /// counted.
    package init(registry: MetricRegistry, stages: [String], outcomes: [String], deadLetterReasons: [String]) {
        consumed = registry.counters(
            "pushmill_records_consumed_total", "Records taken from the input topics.", labels: .topic)
        let published = registry.counters(
            "pushmill_records_published_total", "Records whose output the brokers acknowledged, by outcome.",
            labels: .outcome)
        self.published = outcomes.map { published.series($0) }
        let deadLetters = registry.counters(
            "pushmill_dead_letters_total", "Dead letters that the brokers acknowledged, by reason.", labels: .reason)
        self.deadLetters = deadLetterReasons.map { deadLetters.series($0) }
        messageSeconds =
            registry.histograms(
                "pushmill_message_seconds", "Time from a message's turn to the hand-over of its output.", .message
            ).series()
        endToEndSeconds =
            registry.histograms(
                "pushmill_end_to_end_seconds", "Time from a record's timestamp to its acknowledged output.", .endToEnd
            ).series()
        self.stages = StageMetrics.resolve(stages, in: registry)

        inFlightMessages =
            registry.gauges("pushmill_in_flight_messages", "Messages taken and not yet acknowledged.").series()
        inFlightBytes =
            registry.gauges("pushmill_in_flight_bytes", "Bytes of messages taken and not yet acknowledged.").series()
        lag = registry.gauges(
            "pushmill_consumer_lag_records", "Records in the partition behind the committed offset.",
            labels: .topic, .partition)
        paused = registry.gauges(
            "pushmill_consumer_paused", "1 while intake from the partition is paused.", labels: .topic, .partition)
        checkpointSeconds =
            registry.histograms("pushmill_checkpoint_seconds", "Time that a checkpoint took.", .checkpoint).series()
        checkpointFailures =
            registry.counters("pushmill_checkpoint_failures_total", "Checkpoints that failed.").series()
        stalePartitions =
            registry.counters(
                "pushmill_stale_partitions_total", "Partitions taken over whose badge counts may be stale."
            ).series()
        let rebalances = registry.counters(
            "pushmill_rebalances_total", "Rebalances, by what happened to this instance's partitions.", labels: .event)
        partitionsAssigned = rebalances.series("assigned")
        partitionsRevoked = rebalances.series("revoked")
        partitionsLost = rebalances.series("lost")
        producerQueueMessages =
            registry.gauges("pushmill_producer_queue_messages", "Messages waiting in the producer.").series()
        producerQueueBytes =
            registry.gauges("pushmill_producer_queue_bytes", "Bytes waiting in the producer.").series()
        reloads = registry.counters(
            "pushmill_reloads_total", "Reloads of files and settings, by what and how it went.",
            labels: .target, .result)
    }

    /// The part of one writer, counted from 0: a lane, or any other thread that counts for every message.
    public func shard(_ index: Int) -> MetricsShard { MetricsShard(self, index) }

    public func consumed(topic: String) -> Counter { consumed.series(topic) }

    public func reloaded(_ target: String, succeeded: Bool) {
        reloads.series(target, succeeded ? "ok" : "failed").add()
    }

    /// The gauges of an assigned partition, until `remove`.
    public func partition(_ partition: Int32, of topic: String) -> PartitionMetrics {
        PartitionMetrics(lag: lag.series(topic, "\(partition)"), paused: paused.series(topic, "\(partition)"))
    }

    /// For a partition that is no longer ours.
    public func remove(partition: Int32, of topic: String) {
        lag.remove(topic, "\(partition)")
        paused.remove(topic, "\(partition)")
    }

    public var publishedByOutcome: [Int] { published.map(\.value) }
}

public struct PartitionMetrics: Sendable {
    public let lag: Gauge
    public let paused: Gauge
}
