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
