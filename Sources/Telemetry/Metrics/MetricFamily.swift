import Synchronization

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

    /// Ends the series. A handle that is still held goes on counting, where no one sees it.
    package func remove(_ values: String...) {
        let labels = description.labels(values)
        series.withLock { $0.removeAll { $0.labels == labels } }
    }

    package func write(into exposition: inout Exposition) {
        let series = series.withLock { $0 }
        guard !series.isEmpty else { return }
        exposition.begin(description)
        for (labels, handle) in series { handle.write(into: &exposition, labels: labels) }
    }
}
