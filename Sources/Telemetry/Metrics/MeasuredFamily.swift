/// A counter or gauge that is asked for its values when there is a scrape, such as what librdkafka's statistics say.
package struct MeasuredFamily: MetricSource {
    package struct Sample: Sendable {
        let value: Double
        let labels: [String]

        /// Label values in the order of the labels' names.
        package init(_ value: Double, _ labels: String...) {
            self.value = value
            self.labels = labels
        }
    }

    private let description: MetricDescription
    private let measure: @Sendable () -> [Sample]

    package init(_ description: MetricDescription, measure: @escaping @Sendable () -> [Sample]) {
        self.description = description
        self.measure = measure
    }

    package func write(into exposition: inout Exposition) {
        let samples = measure()
        guard !samples.isEmpty else { return }
        exposition.begin(description)
        for sample in samples { exposition.sample(labels: description.labels(sample.labels), sample.value) }
    }
}
