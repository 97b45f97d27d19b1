import Testing

@testable import PushmillTelemetry

@Suite struct MetricsPageTests {
    @Test("Scrapes of one format within a tenth of a second share a rendering")
    func sharing() {
        let time = ManualClock()
        let registry = MetricRegistry()
        let counter = registry.counters("test_total", "Test.").series()
        let page = MetricsPage(registry, clock: time.clock)
        let first = page.bytes(.prometheus)
        counter.add()
        #expect(areOne(page.bytes(.prometheus), first))
        #expect(!areOne(page.bytes(.openMetrics), first))
        time.advance(seconds: 1)
        let second = page.bytes(.prometheus)
        #expect(!areOne(second, first))
        time.advance(seconds: -10)
        #expect(!areOne(page.bytes(.prometheus), second))
    }

    private func areOne(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { one.baseAddress == $0.baseAddress } }
    }
}
