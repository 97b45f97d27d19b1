import PushmillTelemetry
import PushmillTestSupport
import Testing

@Suite struct ServiceMetricsTests {
    private let registry = MetricRegistry()
    private let metrics: ServiceMetrics

    init() {
        metrics = ServiceMetrics(
            registry: registry, stages: ["decrypt", "badge"], outcomes: ["modified", "passed"],
            deadLetterReasons: ["not-json"])
    }

    private var lines: Set<Substring> {
        Set(String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n"))
    }

    @Test("A shard's counts are shown under the labels of their indices")
    func shard() {
        var shard = metrics.messages.shard(1)
        shard.published[1].add()
        shard.deadLetters[0].add(2)
        shard.stages[0].count("ok")
        shard.stages[0].count("failed", reason: "no-key")
        shard.stages[0].count("failed", reason: "no-key")
        shard.stages[1].count("miss")
        shard.stages[1].seconds.observe(nanoseconds: 900)
        #expect(
            lines.isSuperset(of: [
                #"pushmill_records_published_total{outcome="modified"} 0"#,
                #"pushmill_records_published_total{outcome="passed"} 1"#,
                #"pushmill_dead_letters_total{reason="not-json"} 2"#,
                #"pushmill_stage_results_total{stage="decrypt",result="ok",reason=""} 1"#,
                #"pushmill_stage_results_total{stage="decrypt",result="failed",reason="no-key"} 2"#,
                #"pushmill_stage_results_total{stage="badge",result="miss",reason=""} 1"#,
                #"pushmill_stage_seconds_bucket{stage="badge",le="1e-06"} 1"#,
            ]))
    }

    @Test("Two shards that count the same result add to one series")
    func twoWriters() {
        var (first, second) = (metrics.messages.shard(0), metrics.messages.shard(1))
        first.stages[0].count("ok")
        second.stages[0].count("ok")
        #expect(lines.contains(#"pushmill_stage_results_total{stage="decrypt",result="ok",reason=""} 2"#))
    }

    @Test("A scrape shows readiness, brokers, log lines and losses, the build and the process")
    func process() {
        let log = Log()
        for _ in 0..<21 { log.warning("Warned") }
        registry.addProcess(log: log, version: "1.2.3")
        registry.addWork()
        let lines = lines
        #expect(lines.contains("pushmill_ready 0.0"))
        #expect(lines.contains(#"pushmill_broker_round_trip_seconds{client="producer",broker="1"} 0.002"#))
        #expect(lines.contains(#"pushmill_consumer_lag_records{topic="in",partition="3"} 7.0"#))
        #expect(lines.contains(#"pushmill_oldest_unfinished_seconds{topic="in",partition="3"} 2.5"#))
        #expect(lines.contains(#"pushmill_media_free_bytes{path="/media"} 7.0"#))
        #expect(lines.contains("pushmill_in_flight_messages 5.0"))
        #expect(lines.contains(#"pushmill_build_info{version="1.2.3"} 1.0"#))
        #expect(lines.contains(#"pushmill_log_lines_total{level="warning"} 21.0"#))
        #expect(lines.contains(#"pushmill_log_lines_lost_total{reason="repeated"} 1.0"#))
        for name in ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"] {
            let line = lines.first { $0.hasPrefix("process_\(name) ") }
            expect(line?.split(separator: " ").last.flatMap { Double($0) }.map { $0 > 0 }, is: true, "process_\(name)")
        }
    }
}
