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
