import Testing

@testable import PushmillTelemetry

@Suite struct HistogramTests {
    @Test(
        "A value falls into the first bucket whose bound it does not exceed",
        arguments: [Buckets.stage, .message, .endToEnd, .checkpoint, Buckets([0]), Buckets([1, 2, 3, 4, .max])])
    func index(_ buckets: Buckets) {
        var values: [UInt64] = [0, 1, .max]
        for bound in buckets.bounds { values += [bound &- 1, bound, bound &+ 1, bound / 2, bound &* 3] }
        for value in values {
            let expected = buckets.bounds.firstIndex { value <= $0 } ?? buckets.bounds.count
            #expect(buckets.index(of: value) == expected)
        }
    }

    @Test("Quantiles are estimated as Prometheus does")
    func quantiles() {
        let histogram = Histogram(Buckets([1, 2, 4].map { $0 * 1_000_000_000 }), shards: 0)
        #expect(histogram.snapshot.quantile(0.5) == nil)
        for seconds in [1, 1, 2, 4] as [Int64] { histogram.observe(nanoseconds: seconds * 1_000_000_000) }
        let snapshot = histogram.snapshot
        #expect(snapshot.quantile(0) == 0)
        #expect(snapshot.quantile(0.25) == 0.5)
        #expect(snapshot.quantile(0.5) == 1)
        #expect(snapshot.quantile(0.75) == 2)
        #expect(snapshot.quantile(1) == 4)
        histogram.observe(nanoseconds: 100_000_000_000)
        #expect(histogram.snapshot.quantile(1) == 4)
        #expect(snapshot.count == 4 && snapshot.sumSeconds == 8)
    }

    @Test("The difference of two snapshots is what happened between them")
    func difference() {
        let histogram = Histogram(Buckets([1_000, 2_000]), shards: 1)
        histogram.shard(0).observe(nanoseconds: 500)
        let before = histogram.snapshot
        histogram.shard(0).observe(nanoseconds: 1_500)
        let between = histogram.snapshot - before
        #expect(between.count == 1 && between.sumSeconds == 1.5e-6)
        #expect(between.quantile(1) == 2e-6)
    }
}
