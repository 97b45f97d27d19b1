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
