/// What is counted of one stage.
public final class StageMetrics: Sendable {
    public let name: String
    public let seconds: Histogram
    /// Deadlines that came while this stage ran.
    public let expired: Counter
    /// Abandoned calls of this stage that still run.
    public let abandoned: Gauge
    /// Results that came after the deadline and were dropped.
    public let late: Counter
    private let results: MetricFamily<Counter>

    /// The counter of one of the stage's results; `reason` is empty where the result has none.
    func results(_ result: String, reason: String) -> Counter { results.series(name, result, reason) }

    private init(
        name: String, seconds: Histogram, expired: Counter, abandoned: Gauge, late: Counter,
        results: MetricFamily<Counter>
    ) {
        self.name = name
        self.seconds = seconds
        self.expired = expired
        self.abandoned = abandoned
        self.late = late
        self.results = results
    }

    static func resolve(_ names: [String], in registry: MetricRegistry) -> [StageMetrics] {
        let results = registry.counters(
            "pushmill_stage_results_total", "How stages ended, and why where they failed.",
            labels: .stage, .result, .reason)
        let seconds = registry.histograms(
            "pushmill_stage_seconds", "Time that a stage took.", .stage, labels: .stage)
        let expired = registry.counters(
            "pushmill_deadlines_expired_total", "Deadlines that came while the stage ran.", labels: .stage)
        let abandoned = registry.gauges(
            "pushmill_stages_abandoned", "Calls of the stage that still run past their deadline.", labels: .stage)
        let late = registry.counters(
            "pushmill_stage_late_results_total", "Results that came after the deadline and were dropped.",
            labels: .stage)
        return names.map { name in
            StageMetrics(
                name: name, seconds: seconds.series(name), expired: expired.series(name),
                abandoned: abandoned.series(name), late: late.series(name), results: results)
        }
    }
}
