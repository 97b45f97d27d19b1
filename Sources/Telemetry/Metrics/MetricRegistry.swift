import Synchronization

/// Everything that `/metrics` shows, in the order in which it was added.
package final class MetricRegistry: Sendable {
    /// How many threads write shards of their own.
    package let shards: Int
    private let sources = Mutex<[any MetricSource]>([])

    package init(shards: Int) { self.shards = shards }

    /// A name is added once.
    package func add(_ source: some MetricSource) { sources.withLock { $0.append(source) } }

    package func counters(_ name: String, _ help: String, labels: FieldName...) -> MetricFamily<Counter> {
        let family = MetricFamily(MetricDescription(.counter, name, help, labels: labels)) { [shards] in
            Counter(shards: shards)
        }
        add(family)
        return family
    }

    package func gauges(_ name: String, _ help: String, labels: FieldName...) -> MetricFamily<Gauge> {
        let family = MetricFamily(MetricDescription(.gauge, name, help, labels: labels)) { Gauge() }
        add(family)
        return family
    }

    package func histograms(
        _ name: String, _ help: String, _ buckets: Buckets, labels: FieldName...
    ) -> MetricFamily<Histogram> {
        let family = MetricFamily(MetricDescription(.histogram, name, help, labels: labels)) { [shards] in
            Histogram(buckets, shards: shards)
        }
        add(family)
        return family
    }

    package func render(_ format: Exposition.Format) -> [UInt8] {
        let sources = sources.withLock { $0 }
        var exposition = Exposition(format)
        for source in sources { source.write(into: &exposition) }
        return exposition.finished()
    }
}
