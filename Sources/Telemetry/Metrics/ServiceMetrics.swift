/// Every metric of the service, resolved. What is counted for each message is in the `MetricsShard` of the thread that
/// counts it; the rest is counted here, from any thread.
public final class ServiceMetrics: Sendable {
    /// By the index of the outcome or of the reason, in the order given to `init`.
    public let published: [Counter]
    public let deadLetters: [Counter]
    public let dropped: Counter
    /// In the order of the chain.
    public let stages: [StageMetrics]
    private let messageSeconds: Histogram
    private let endToEndSeconds: Histogram
    private let consumed: MetricFamily<Counter>

    public let outputsReturned: Counter
    public let partitionsAssigned: Counter
    public let partitionsRevoked: Counter
    public let partitionsLost: Counter
    public let restoredRecords: Counter
    public let checkpointSeconds: Histogram
    public let checkpointFailures: Counter
    public let transactionsCommitted: Counter
    public let transactionsAborted: Counter

    /// `stages` are names in the order of the chain; `outcomes` and `deadLetterReasons` are labels in the order of the
    /// indices by which they are counted.
    package init(registry: MetricRegistry, stages: [String], outcomes: [String], deadLetterReasons: [String]) {
        consumed = registry.counters(
            "pushmill_records_consumed_total",
            "Records consumed from the input topics. A record consumed again counts again.", labels: .topic)
        let published = registry.counters(
            "pushmill_records_published_total",
            "Records whose output the brokers acknowledged. A record counts again after an aborted transaction.",
            labels: .outcome)
        self.published = outcomes.map { published.series($0) }
        let deadLetters = registry.counters(
            "pushmill_dead_letters_total", "Dead letters that the brokers acknowledged.", labels: .reason)
        self.deadLetters = deadLetterReasons.map { deadLetters.series($0) }
        dropped = registry.counters(
            "pushmill_records_dropped_total",
            "Expired records that were dropped (`expired: drop`). A record consumed again counts again."
        ).series()
        messageSeconds = registry.histograms(
            "pushmill_message_seconds",
            "Time from a message's turn until its output is handed to the producer; 0 if no stage waited.", .message
        ).series()
        endToEndSeconds = registry.histograms(
            "pushmill_end_to_end_seconds", "Time from a record's timestamp to the acknowledgment of its output.",
            .endToEnd
        ).series()
        self.stages = StageMetrics.all(stages, in: registry)
        outputsReturned = registry.counters(
            "pushmill_outputs_returned_total", "Outputs that brokers did not store and that are sent again."
        ).series()
        let rebalances = registry.counters(
            "pushmill_rebalances_total", "Partitions that rebalances assigned to this instance or took from it.",
            labels: .event)
        partitionsAssigned = rebalances.series("assigned")
        partitionsRevoked = rebalances.series("revoked")
        partitionsLost = rebalances.series("lost")
        restoredRecords = registry.counters(
            "pushmill_restore_records_total", "Badge changelog records that were read to restore counts."
        ).series()
        checkpointSeconds = registry.histograms(
            "pushmill_checkpoint_seconds", "Duration of a checkpoint.", .checkpoint
        ).series()
        checkpointFailures = registry.counters(
            "pushmill_checkpoint_failures_total", "Checkpoints that failed."
        ).series()
        let transactions = registry.counters(
            "pushmill_transactions_total", "Transactions (exactly-once), by result.", labels: .result)
        transactionsCommitted = transactions.series("committed")
        transactionsAborted = transactions.series("aborted")
    }

    /// The part of one writer, a shard; writers are numbered from 0.
    public func shard(_ index: Int) -> MetricsShard {
        MetricsShard(
            published: published.map { $0.shard(index) }, deadLetters: deadLetters.map { $0.shard(index) },
            dropped: dropped.shard(index), messageSeconds: messageSeconds.shard(index),
            endToEndSeconds: endToEndSeconds.shard(index), stages: stages.map { StageMetricsShard($0, index) })
    }

    public func consumed(topic: String) -> Counter { consumed.series(topic) }
}

/// The metrics of one stage.
public struct StageMetrics: Sendable {
    public let name: String
    public let seconds: Histogram
    /// Deadlines, including that of the stage's own budget, that passed while this stage ran.
    public let expired: Counter
    /// Abandoned calls of this stage that still run.
    public let abandoned: Counter
    /// Results that came too late for their message and were dropped.
    public let late: Counter
    private let results: MetricFamily<Counter>

    /// The counter of one of the stage's results; `reason` is empty if the result has none.
    public func results(_ result: String, reason: String = "") -> Counter { results.series(name, result, reason) }

    fileprivate static func all(_ names: [String], in registry: MetricRegistry) -> [StageMetrics] {
        let results = registry.counters(
            "pushmill_stage_results_total", "Results of stages, with the reason if a stage failed.",
            labels: .stage, .result, .reason)
        let seconds = registry.histograms(
            "pushmill_stage_seconds",
            "Duration of a stage. Under load, stages that do not wait are measured for one message in 16.",
            .stage, labels: .stage)
        let expired = registry.counters(
            "pushmill_deadlines_expired_total",
            "Deadlines, including the stage's budget, that expired while the stage ran.",
            labels: .stage)
        let abandoned = registry.gauges(
            "pushmill_stages_abandoned", "Abandoned calls of the stage that are still running.", labels: .stage)
        let late = registry.counters(
            "pushmill_stage_late_results_total", "Results that arrived too late for their message and were dropped.",
            labels: .stage)
        return names.map { name in
            StageMetrics(
                name: name, seconds: seconds.series(name), expired: expired.series(name),
                abandoned: abandoned.series(name), late: late.series(name), results: results)
        }
    }
}

/// One writer's part of the metrics counted for every message. Only one thread at a time may use it.
public struct MetricsShard: Sendable {
    /// By the index of the outcome.
    public let published: [Counter]
    /// By the index of the reason.
    public let deadLetters: [Counter]
    public let dropped: Counter
    public let messageSeconds: Histogram
    public let endToEndSeconds: Histogram
    /// In the order of the chain.
    public var stages: [StageMetricsShard]
}

/// One writer's part of a stage's metrics.
public struct StageMetricsShard: Sendable {
    public let seconds: Histogram
    private let metrics: StageMetrics
    private let index: Int
    /// The results seen so far, by the addresses of their literals: few enough for a linear search.
    private var results: [(word: UInt, reason: UInt, counter: Counter)] = []

    init(_ metrics: StageMetrics, _ index: Int) {
        self.metrics = metrics
        self.index = index
        seconds = metrics.seconds.shard(index)
    }

    /// Both words are from the fixed vocabulary; an empty reason means none.
    public mutating func count(_ result: StaticString, reason: StaticString = "", by amount: Int = 1) {
        let key = (result.identity, reason.identity)
        for index in results.indices where results[index].word == key.0 && results[index].reason == key.1 {
            return results[index].counter.add(amount)
        }
        let counter = metrics.results("\(result)", reason: "\(reason)").shard(index)
        results.append((key.0, key.1, counter))
        counter.add(amount)
    }
}
