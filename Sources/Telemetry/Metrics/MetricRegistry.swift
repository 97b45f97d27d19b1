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

/// What a family has for each set of label values.
package protocol MetricSeries: AnyObject, Sendable {
    func write(into exposition: inout Exposition, labels: String)
}

/// Writes one or more families when there is a scrape.
package protocol MetricSource: Sendable {
    func write(into exposition: inout Exposition)
}

/// The series of one name. A handle is resolved once, at start, and then used without looking anything up.
package final class MetricFamily<Series: MetricSeries>: MetricSource {
    private let description: MetricDescription
    private let make: @Sendable () -> Series
    private let series = Mutex<[(labels: String, handle: Series)]>([])

    package init(_ description: MetricDescription, make: @escaping @Sendable () -> Series) {
        self.description = description
        self.make = make
    }

    /// The handle for these label values, in the order of the labels' names; the same one for the same values.
    package func series(_ values: String...) -> Series {
        let labels = description.labels(values)
        return series.withLock { series in
            if let known = series.first(where: { $0.labels == labels }) { return known.handle }
            let handle = make()
            series.append((labels, handle))
            return handle
        }
    }

    package func write(into exposition: inout Exposition) {
        let series = series.withLock { $0 }
        guard !series.isEmpty else { return }
        exposition.begin(description)
        for (labels, handle) in series { handle.write(into: &exposition, labels: labels) }
    }
}

/// What is asked for when there is a scrape.
extension MetricRegistry {
    /// A counter or gauge that is asked for its samples, such as what librdkafka's statistics say.
    package func measure(_ description: MetricDescription, _ samples: @escaping @Sendable () -> [MetricSample]) {
        add(MeasuredFamily(description: description, samples: samples))
    }

    /// What the process, the build and the log say of themselves.
    package func addProcess(log: Log, version: String) {
        measure(.build) { [.init(1, version)] }
        measure(.logLines) { [counts = log.counts] in
            LogLevel.allCases.map { .init(Double(counts.lines($0)), $0.name) }
        }
        measure(.logLinesLost) { [counts = log.counts] in
            [.init(Double(counts.heldBack), "repeated"), .init(Double(counts.lost), "output")]
        }
        add(ProcessMetrics())
    }
}

package struct MetricSample: Sendable {
    let value: Double
    let labels: [String]

    /// Label values in the order of the labels' names.
    package init(_ value: Double, _ labels: String...) {
        self.value = value
        self.labels = labels
    }
}

private struct MeasuredFamily: MetricSource {
    let description: MetricDescription
    let samples: @Sendable () -> [MetricSample]

    func write(into exposition: inout Exposition) {
        let samples = samples()
        guard !samples.isEmpty else { return }
        exposition.begin(description)
        for sample in samples { exposition.sample(labels: description.labels(sample.labels), sample.value) }
    }
}
