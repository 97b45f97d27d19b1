/// Every metric of the service, resolved.
public final class ServiceMetrics: Sendable {
    public let messages: MessageMetrics
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
        let deadLetters = registry.counters(
            "pushmill_dead_letters_total", "Dead letters that the brokers acknowledged.", labels: .reason)
        let dropped = registry.counters(
            "pushmill_records_dropped_total",
            "Expired records that were dropped (`expired: drop`). A record consumed again counts again."
        ).series()
        let messageSeconds = registry.histograms(
            "pushmill_message_seconds",
            "Time from a message's turn until its output is handed to the producer; 0 if no stage waited.", .message
        ).series()
        let endToEndSeconds = registry.histograms(
            "pushmill_end_to_end_seconds", "Time from a record's timestamp to the acknowledgment of its output.",
            .endToEnd
        ).series()
        messages = MessageMetrics(
            published: outcomes.map { published.series($0) },
            deadLetters: deadLetterReasons.map { deadLetters.series($0) }, dropped: dropped,
            messageSeconds: messageSeconds, endToEndSeconds: endToEndSeconds,
            stages: StageMetrics.all(stages, in: registry))
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

    public func consumed(topic: String) -> Counter { consumed.series(topic) }
}

/// What is counted for each message. Any thread may count; a thread that does so for every message takes a shard.
public struct MessageMetrics: Sendable {
    /// By the index of the outcome, in the order given to `ServiceMetrics`.
    public let published: [Counter]
    /// By the index of the reason.
    public let deadLetters: [Counter]
    public let dropped: Counter
    public let messageSeconds: Histogram
    public let endToEndSeconds: Histogram
    /// In the order of the chain.
    public var stages: [StageMetrics]

    /// One writer's part, for one thread at a time; writers are numbered from 0.
    public func shard(_ index: Int) -> MessageMetrics {
        MessageMetrics(
            published: published.map { $0.shard(index) }, deadLetters: deadLetters.map { $0.shard(index) },
            dropped: dropped.shard(index), messageSeconds: messageSeconds.shard(index),
            endToEndSeconds: endToEndSeconds.shard(index), stages: stages.map { $0.shard(index) })
    }
}

/// The metrics of one stage.
public struct StageMetrics: Sendable {
    public let name: String
    public private(set) var seconds: Histogram
    /// Deadlines, including that of the stage's own budget, that passed while this stage ran.
    public let expired: Counter
    /// Abandoned calls of this stage that still run.
    public let abandoned: Counter
    /// Results that came too late for their message and were dropped.
    public let late: Counter
    private let results: MetricFamily<Counter>
    /// The one writer of `seconds` and of what `count` counts; nil for any thread.
    private var writer: Int?
    /// The results counted so far, by the addresses of their literals: few enough for a linear search.
    private var counted: [(word: UInt, reason: UInt, counter: Counter)] = []

    fileprivate func shard(_ index: Int) -> StageMetrics {
        var shard = self
        (shard.seconds, shard.writer) = (seconds.shard(index), index)
        return shard
    }

    /// The counter of one of the stage's results; `reason` is empty if the result has none.
    public func results(_ result: String, reason: String = "") -> Counter { results.series(name, result, reason) }

    /// Both words are from the fixed vocabulary; an empty reason means none.
    public mutating func count(_ result: StaticString, reason: StaticString = "", by amount: Int = 1) {
        let key = (result.identity, reason.identity)
        for index in counted.indices where counted[index].word == key.0 && counted[index].reason == key.1 {
            return counted[index].counter.add(amount)
        }
        let series = results("\(result)", reason: "\(reason)")
        let counter = writer.map(series.shard) ?? series
        counted.append((key.0, key.1, counter))
        counter.add(amount)
    }

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
