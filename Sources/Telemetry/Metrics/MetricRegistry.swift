import Synchronization

/// Everything that `/metrics` shows, in the order in which it was added.
package final class MetricRegistry: Sendable {
    /// Each writes one or more families at every scrape.
    private let sources = Mutex<[@Sendable (inout Exposition) -> Void]>([])

    package init() {}

    /// Each name may be added only once.
    private func add(_ source: @escaping @Sendable (inout Exposition) -> Void) {
        sources.withLock { $0.append(source) }
    }

    private func add<Series>(_ family: MetricFamily<Series>) -> MetricFamily<Series> {
        add(family.write)
        return family
    }

    package func counters(_ name: String, _ help: String, labels: FieldName...) -> MetricFamily<Counter> {
        add(MetricFamily(MetricDescription(.counter, name, help, labels: labels)) { Counter() })
    }

    package func gauges(_ name: String, _ help: String, labels: FieldName...) -> MetricFamily<Counter> {
        add(MetricFamily(MetricDescription(.gauge, name, help, labels: labels)) { Counter() })
    }

    package func histograms(
        _ name: String, _ help: String, _ buckets: Buckets, labels: FieldName...
    ) -> MetricFamily<Histogram> {
        add(MetricFamily(MetricDescription(.histogram, name, help, labels: labels)) { Histogram(buckets) })
    }

    package func render(_ format: Exposition.Format) -> [UInt8] {
        let sources = sources.withLock { $0 }
        var exposition = Exposition(format)
        for source in sources { source(&exposition) }
        return exposition.finished()
    }
}

/// One member of a family: what it has for one set of label values.
package protocol MetricSeries: Sendable {
    func write(into exposition: inout Exposition, labels: String)
}

/// The series of one name. A handle is resolved once, at start, and then used without a lookup.
package final class MetricFamily<Series: MetricSeries>: Sendable {
    private let description: MetricDescription
    private let make: @Sendable () -> Series
    private let series = Mutex<[(labels: String, handle: Series)]>([])

    fileprivate init(_ description: MetricDescription, make: @escaping @Sendable () -> Series) {
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

    fileprivate func write(into exposition: inout Exposition) {
        let series = series.withLock { $0 }
        guard !series.isEmpty else { return }
        exposition.begin(description)
        for (labels, handle) in series { handle.write(into: &exposition, labels: labels) }
    }
}

/// Values that are read at each scrape.
extension MetricRegistry {
    /// A counter or gauge whose samples are read at each scrape, such as librdkafka's statistics.
    package func measure(_ description: MetricDescription, _ samples: @escaping @Sendable () -> [MetricSample]) {
        add { exposition in
            let samples = samples()
            guard !samples.isEmpty else { return }
            exposition.begin(description)
            for sample in samples { exposition.sample(labels: description.labels(sample.labels), sample.value) }
        }
    }

    /// Adds the metrics of the process, the build and the log.
    package func addProcess(log: Log, version: String) {
        measure(.build) { [.init(1, version)] }
        measure(.logLines) { [counts = log.counts] in
            LogLevel.allCases.map { .init(Double(counts.lines($0).value), $0.name) }
        }
        measure(.logLinesLost) { [counts = log.counts] in
            [.init(Double(counts.heldBack.value), "repeated"), .init(Double(counts.lost.value), "output")]
        }
        add(ProcessMetrics().write)
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
