import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct ExpositionTests {
    /// One metric of each kind, with text that must be escaped.
    private var registry: MetricRegistry {
        let registry = MetricRegistry()
        let records = registry.counters(
            "test_records_total", "Records \\ by\n\"topic\".", labels: .topic, .partition)
        records.series("a \"b\" \\ c\nd", "0").add(2)
        let shard = records.series("e", "1").shard(1)
        shard.add()
        shard.add(4)
        registry.gauges("test_queue_messages", "Queue.").series().add(-3)
        let seconds = registry.histograms(
            "test_seconds", "Time.", Buckets([1_000, 2_500_000, 1_000_000_000]), labels: .stage)
        let histogram = seconds.series("x")
        histogram.observe(nanoseconds: 1_000)
        histogram.shard(0).observe(nanoseconds: 1_001)
        histogram.shard(1).observe(nanoseconds: -5)
        histogram.observe(nanoseconds: 3_000_000_000)
        registry.measure(MetricDescription(.gauge, "test_rtt_seconds", "Round trip.", labels: [.broker])) {
            [.init(0.25, "1"), .init(.infinity, "2"), .init(.nan, "3")]
        }
        return registry
    }

    private let samples = #"""
        test_records_total{topic="a \"b\" \\ c\nd",partition="0"} 2
        test_records_total{topic="e",partition="1"} 5
        # HELP test_queue_messages Queue.
        # TYPE test_queue_messages gauge
        test_queue_messages -3
        # HELP test_seconds Time.
        # TYPE test_seconds histogram
        test_seconds_bucket{stage="x",le="1e-06"} 2
        test_seconds_bucket{stage="x",le="0.0025"} 3
        test_seconds_bucket{stage="x",le="1.0"} 3
        test_seconds_bucket{stage="x",le="+Inf"} 4
        test_seconds_sum{stage="x"} 3.000002001
        test_seconds_count{stage="x"} 4
        # HELP test_rtt_seconds Round trip.
        # TYPE test_rtt_seconds gauge
        test_rtt_seconds{broker="1"} 0.25
        test_rtt_seconds{broker="2"} +Inf
        test_rtt_seconds{broker="3"} NaN

        """#

    @Test("Prometheus text 0.0.4 is rendered exactly, to the byte")
    func prometheus() {
        let head = #"""
            # HELP test_records_total Records \\ by\n"topic".
            # TYPE test_records_total counter

            """#
        expect(String(decoding: registry.render(.prometheus), as: UTF8.self), is: head + samples)
    }

    @Test("OpenMetrics 1.0.0 is rendered exactly, to the byte")
    func openMetrics() {
        let head = #"""
            # HELP test_records Records \\ by\n\"topic\".
            # TYPE test_records counter

            """#
        expect(String(decoding: registry.render(.openMetrics), as: UTF8.self), is: head + samples + "# EOF\n")
    }

    @Test("A family without series is not shown")
    func empty() {
        let registry = MetricRegistry()
        _ = registry.counters("test_total", "None.")
        registry.measure(MetricDescription(.gauge, "test_none", "None.")) { [] }
        #expect(registry.render(.prometheus).isEmpty)
        expect(String(decoding: registry.render(.openMetrics), as: UTF8.self), is: "# EOF\n")
    }
}
