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
