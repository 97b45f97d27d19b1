/// What is asked for when there is a scrape.
extension MetricRegistry {
    /// What the process, the build and the log say of themselves.
    package func addProcess(log: Log, version: String) {
        add(MeasuredFamily(ServiceFamilies.build) { [.init(1, version)] })
        add(
            MeasuredFamily(ServiceFamilies.logLines) { [counts = log.counts] in
                LogLevel.allCases.map { .init(Double(counts.lines($0)), $0.name) }
            })
        add(
            MeasuredFamily(ServiceFamilies.logLinesLost) { [counts = log.counts] in
                [.init(Double(counts.heldBack), "repeated"), .init(Double(counts.lost), "output")]
            })
        add(ProcessMetrics())
    }

    /// The probe that `/readyz` asks.
    package func addReadiness(_ probe: @escaping Probe) {
        add(MeasuredFamily(ServiceFamilies.ready) { [.init(probe().isEmpty ? 1 : 0)] })
    }

    package func addInFlight(_ measure: @escaping @Sendable () -> (messages: Int, bytes: Int)) {
        add(MeasuredFamily(ServiceFamilies.inFlightMessages) { [.init(Double(measure().messages))] })
        add(MeasuredFamily(ServiceFamilies.inFlightBytes) { [.init(Double(measure().bytes))] })
    }

    /// Of the partitions that this instance has now: what is not finished, nil where that is not known, and how old the oldest
    /// of it is.
    package func addBacklog(
        _ measure: @escaping @Sendable () -> [(topic: String, partition: Int32, records: Int64?, seconds: Double)]
    ) {
        add(
            MeasuredFamily(ServiceFamilies.lag) {
                measure().compactMap { each in
                    each.records.map { .init(Double($0), each.topic, "\(each.partition)") }
                }
            })
        add(
            MeasuredFamily(ServiceFamilies.oldestUnfinished) {
                measure().map { .init($0.seconds, $0.topic, "\($0.partition)") }
            })
    }

    /// Of the partitions that this instance has now.
    package func addPaused(
        _ measure: @escaping @Sendable () -> [(topic: String, partition: Int32, isPaused: Bool)]
    ) {
        add(
            MeasuredFamily(ServiceFamilies.paused) {
                measure().map { .init($0.isPaused ? 1 : 0, $0.topic, "\($0.partition)") }
            })
    }

    /// Of every folder that media is kept in.
    package func addMedia(_ measure: @escaping @Sendable () -> [MediaFigures]) {
        add(MeasuredFamily(ServiceFamilies.mediaBytes) { measure().map { .init(Double($0.bytes), $0.path) } })
        add(MeasuredFamily(ServiceFamilies.mediaLimit) { measure().map { .init(Double($0.limit), $0.path) } })
        add(MeasuredFamily(ServiceFamilies.mediaFree) { measure().map { .init(Double($0.free), $0.path) } })
        add(MeasuredFamily(ServiceFamilies.mediaRefused) { measure().map { .init(Double($0.refusals), $0.path) } })
    }

    package func addRestoreLeft(_ measure: @escaping @Sendable () -> Int64) {
        add(MeasuredFamily(ServiceFamilies.restoreLeft) { [.init(Double(measure()))] })
    }

    /// Seconds, in the order of the shards.
    package func addBusy(_ measure: @escaping @Sendable () -> [Double]) {
        add(MeasuredFamily(ServiceFamilies.busy) { measure().enumerated().map { .init($1, "\($0)") } })
    }

    package func addProducerQueue(_ measure: @escaping @Sendable () -> (messages: Int, bytes: Int)?) {
        add(
            MeasuredFamily(ServiceFamilies.producerQueueMessages) {
                measure().map { [.init(Double($0.messages))] } ?? []
            })
        add(MeasuredFamily(ServiceFamilies.producerQueueBytes) { measure().map { [.init(Double($0.bytes))] } ?? [] })
    }

    /// `client` is `consumer` or `producer`.
    package func addBrokerRoundTrips(
        _ measure: @escaping @Sendable () -> [(client: String, broker: Int32, seconds: Double)]
    ) {
        add(
            MeasuredFamily(ServiceFamilies.brokerRoundTrip) {
                measure().map { .init($0.seconds, $0.client, "\($0.broker)") }
            })
    }
}

/// What a folder of media holds, and what it may hold, in bytes.
package struct MediaFigures: Sendable, Equatable {
    package let path: String
    package let bytes: Int
    package let limit: Int
    /// Of the folder's disk, above the floor that is left free.
    package let free: Int
    /// How often something was not kept for want of room.
    package let refusals: Int

    package init(path: String, bytes: Int, limit: Int, free: Int, refusals: Int) {
        self.path = path
        self.bytes = bytes
        self.limit = limit
        self.free = free
        self.refusals = refusals
    }
}

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
