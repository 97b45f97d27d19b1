import PushmillTestSupport
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
            expect(buckets.index(of: value), is: expected)
        }
    }

    @Test("Observations of shards and other threads add up in cumulative buckets")
    func served() {
        let registry = MetricRegistry()
        let histogram = registry.histograms("h", "help", Buckets([1, 2, 4].map { $0 * 1_000_000_000 })).series()
        for seconds in [1, 2, 100] as [Int64] { histogram.observe(nanoseconds: seconds * 1_000_000_000) }
        for seconds in [-1, 4] as [Int64] { histogram.shard(0).observe(nanoseconds: seconds * 1_000_000_000) }
        let lines = String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n")
        expect(
            lines.filter { !$0.hasPrefix("#") },
            is: [
                #"h_bucket{le="1.0"} 2"#, #"h_bucket{le="2.0"} 3"#, #"h_bucket{le="4.0"} 4"#,
                #"h_bucket{le="+Inf"} 5"#, "h_sum 107.0", "h_count 5",
            ])
    }

    @Test("The sum of a backlog's seconds does not overflow")
    func backlog() throws {
        let registry = MetricRegistry()
        let histogram = registry.histograms("h", "help", .endToEnd).series()
        // Nine centuries in all, some of them observed by a shard.
        for _ in 0..<4 {
            histogram.observe(nanoseconds: .max / 4)
            histogram.shard(0).observe(nanoseconds: .max / 4)
        }
        histogram.observe(nanoseconds: .max)
        let lines = String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n")
        let sum = try #require(lines.first { $0.hasPrefix("h_sum ") }.flatMap { Double($0.dropFirst(6)) })
        #expect(abs(sum - 3 * Double(Int64.max) / 1e9) < 1)
    }
}
