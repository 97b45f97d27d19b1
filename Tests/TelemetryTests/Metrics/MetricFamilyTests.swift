import PushmillTelemetry
import PushmillTestSupport
import Testing

@Suite struct MetricFamilyTests {
    private func text(_ registry: MetricRegistry) -> String {
        String(decoding: registry.render(.prometheus), as: UTF8.self)
    }

    @Test("The same label values give the same series")
    func resolving() {
        let family = MetricRegistry().counters("test_total", "Test.", labels: .topic)
        family.series("a").add()
        expect([family.series("a").value, family.series("b").value], is: [1, 0])
    }

    @Test("Shards, other threads and scrapes at the same time lose no count")
    func concurrency() async {
        let registry = MetricRegistry()
        let family = registry.counters("test_total", "Test.", labels: .topic)
        let counter = family.series("a")
        let histogram = registry.histograms("test_seconds", "Test.", .stage).series()
        await withTaskGroup { group in
            for index in 0..<4 {
                group.addTask {
                    let shard = counter.shard(index)
                    let seconds = histogram.shard(index)
                    for number in 0..<20_000 {
                        shard.add()
                        counter.add()
                        seconds.observe(nanoseconds: Int64(number))
                        histogram.observe(nanoseconds: 1)
                    }
                }
            }
            group.addTask {
                for number in 0..<50 {
                    family.series("\(number)").add()
                    _ = registry.render(.openMetrics)
                }
            }
        }
        expect(counter.value, is: 160_000)
        #expect(text(registry).contains("test_seconds_count 160000\n"))
    }
}
