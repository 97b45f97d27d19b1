import Testing

@testable import PushmillTelemetry

@Suite struct MetricsPageTests {
    @Test("Scrapes within a tenth of a second share one rendering of their format")
    func sharing() {
        let time = ManualClock()
        let registry = MetricRegistry(shards: 0)
        let counter = registry.counters("test_total", "Test.").series()
        let page = MetricsPage(registry, clock: time.clock)
        let first = page.bytes(.prometheus)
        counter.add()
        #expect(page.bytes(.prometheus) === first)
        #expect(page.bytes(.openMetrics) !== first)
        time.advance(seconds: 1)
        let second = page.bytes(.prometheus)
        #expect(second !== first)
        time.advance(seconds: -10)
        #expect(page.bytes(.prometheus) !== second)
    }
}
