/// Every metric of the service, resolved. What is counted for each message is in the `MetricsShard` of the thread that
/// counts it; the rest is counted here, from any thread.
public final class ServiceMetrics: Sendable {
    /// By the indices of outcomes and reasons, as they were given.
    public let published: [Counter]
    public let deadLetters: [Counter]
    /// In the order of the chain.
    public let stages: [StageMetrics]
    public let messageSeconds: Histogram
    public let endToEndSeconds: Histogram

    public let outputsReturned: Counter
    public let partitionsAssigned: Counter
    public let partitionsRevoked: Counter
    public let partitionsLost: Counter
    public let restoredRecords: Counter
    public let checkpointSeconds: Histogram
    public let checkpointFailures: Counter
    public let transactionsCommitted: Counter
    public let transactionsAborted: Counter
    private let families: ServiceFamilies

    /// Names of the stages in their order; outcomes and reasons as labels, in the order of the indices by which they
    /// are counted.
    package init(registry: MetricRegistry, stages: [String], outcomes: [String], deadLetterReasons: [String]) {
        let families = ServiceFamilies(in: registry)
        self.families = families
        published = outcomes.map { families.published.series($0) }
        deadLetters = deadLetterReasons.map { families.deadLetters.series($0) }
        self.stages = stages.map { StageMetrics($0, in: families) }
        messageSeconds = families.messageSeconds.series()
        endToEndSeconds = families.endToEndSeconds.series()
        outputsReturned = families.outputsReturned.series()
        partitionsAssigned = families.rebalances.series("assigned")
        partitionsRevoked = families.rebalances.series("revoked")
        partitionsLost = families.rebalances.series("lost")
        restoredRecords = families.restoredRecords.series()
        checkpointSeconds = families.checkpointSeconds.series()
        checkpointFailures = families.checkpointFailures.series()
        transactionsCommitted = families.transactions.series("committed")
        transactionsAborted = families.transactions.series("aborted")
    }

    /// The part of one writer, counted from 0: a shard.
    public func shard(_ index: Int) -> MetricsShard { MetricsShard(self, index) }

    public func consumed(topic: String) -> Counter { families.consumed.series(topic) }
}

/// What is counted of one stage.
public final class StageMetrics: Sendable {
    public let name: String
    public let seconds: Histogram
    /// Deadlines, its budget's included, that came while this stage ran.
    public let expired: Counter
    /// Abandoned calls of this stage that still run.
    public let abandoned: Gauge
    /// Results that came too late for their message and were dropped.
    public let late: Counter
    private let results: MetricFamily<Counter>

    init(_ name: String, in families: ServiceFamilies) {
        self.name = name
        seconds = families.stageSeconds.series(name)
        expired = families.deadlinesExpired.series(name)
        abandoned = families.stagesAbandoned.series(name)
        late = families.lateResults.series(name)
        results = families.stageResults
    }

    /// The counter of one of the stage's results; `reason` is empty where the result has none.
    public func results(_ result: String, reason: String = "") -> Counter { results.series(name, result, reason) }
}

/// One writer's part of the service's metrics: what is counted for every message. Used by no two threads at once.
public struct MetricsShard: Sendable {
    /// By the index of the outcome.
    public let published: [CounterShard]
    /// By the index of the reason.
    public let deadLetters: [CounterShard]
    public let messageSeconds: HistogramShard
    public let endToEndSeconds: HistogramShard
    /// In the order of the chain.
    public var stages: [StageMetricsShard]

    init(_ metrics: ServiceMetrics, _ index: Int) {
        published = metrics.published.map { $0.shard(index) }
        deadLetters = metrics.deadLetters.map { $0.shard(index) }
        messageSeconds = metrics.messageSeconds.shard(index)
        endToEndSeconds = metrics.endToEndSeconds.shard(index)
        stages = metrics.stages.map { StageMetricsShard($0, index) }
    }
}

/// One writer's part of a stage's metrics.
public struct StageMetricsShard: Sendable {
    public let seconds: HistogramShard
    private let metrics: StageMetrics
    private let index: Int
    /// The results seen so far, by the places of their literals in the program: a handful, found by looking along.
    private var results: [(word: UInt, reason: UInt, counter: CounterShard)] = []

    init(_ metrics: StageMetrics, _ index: Int) {
        self.metrics = metrics
        self.index = index
        seconds = metrics.seconds.shard(index)
    }

    /// Both words are of the fixed vocabulary; an empty reason is none.
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
