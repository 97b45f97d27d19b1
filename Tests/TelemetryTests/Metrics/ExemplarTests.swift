import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct ExemplarTests {
    private func trace(_ header: String) -> TraceID? {
        var header = header
        return header.withUTF8 { TraceID(traceparent: UnsafeRawBufferPointer($0)) }
    }

    @Test("OpenMetrics shows the trace of an observation in its bucket; Prometheus text does not")
    func shown() throws {
        let registry = MetricRegistry()
        let histogram = registry.histograms("test_seconds", "Time.", Buckets([1_000_000_000])).series()
        let id = try #require(trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        histogram.shard(0).observe(nanoseconds: 1_500_000_000, trace: id)
        let lines = String(decoding: registry.render(.openMetrics), as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("+Inf") })
        let parts = line.split(separator: " ")
        expect(
            parts.dropLast().joined(separator: " "),
            is: #"test_seconds_bucket{le="+Inf"} 1 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 1.5"#)
        expect(parts.last.flatMap { Double($0) }.map { $0 > 1.7e9 }, is: true)
        expect(lines.filter { $0.contains("trace_id") }.count, is: 1)
        #expect(!String(decoding: registry.render(.prometheus), as: UTF8.self).contains("trace_id"))
    }

    @Test(
        "A malformed traceparent has no trace ID",
        arguments: [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319cab7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333x-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-011",
        ])
    func malformed(_ header: String) { #expect(trace(header) == nil) }

    @Test("A traceparent of a later version may have more parts at its end", arguments: ["", "-", "-more"])
    func later(_ more: String) {
        #expect(trace("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\(more)") != nil)
    }

    @Test("An exemplar stays for a second even if another is offered")
    func interval() throws {
        let exemplars = Exemplars(count: 2)
        let now = Int64(1_700_000_000_000_000_000)
        exemplars.offer(TraceID(high: 1, low: 1), value: 10, at: 1, now: now)
        exemplars.offer(TraceID(high: 2, low: 2), value: 20, at: 1, now: now + 999_999_999)
        expect(exemplars.latest(at: 1)?.trace, is: TraceID(high: 1, low: 1))
        exemplars.offer(TraceID(high: 3, low: 3), value: 30, at: 1, now: now + 1_000_000_000)
        expect(exemplars.latest(at: 1)?.nanoseconds, is: 30)
        #expect(exemplars.latest(at: 0) == nil)
    }

    @Test("Readers never see parts of two exemplars")
    func torn() async {
        let exemplars = Exemplars(count: 1)
        await withTaskGroup { group in
            for writer in 0..<2 {
                group.addTask {
                    for step in 1...20_000 as ClosedRange<UInt64> {
                        let word = step &* 2 &+ UInt64(writer)
                        exemplars.offer(
                            TraceID(high: word, low: word), value: word, at: 0, now: Int64(step) * 2_000_000_000)
                    }
                }
            }
            for _ in 0..<20_000 {
                guard let seen = exemplars.latest(at: 0) else { continue }
                #expect(seen.trace.high == seen.trace.low && seen.trace.high == seen.nanoseconds)
            }
        }
        #expect(exemplars.latest(at: 0) != nil)
    }
}
