/// What is asked for when there is a scrape.
extension MetricRegistry {
    /// What the process, the build and the log say of themselves.
    package func addProcess(log: Log, version: String, revision: String) {
        add(MeasuredFamily(ServiceFamilies.build) { [.init(1, version, revision)] })
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

    /// Seconds, by broker.
    package func addBrokerRoundTrips(_ seconds: @escaping @Sendable () -> [(broker: String, seconds: Double)]) {
        add(MeasuredFamily(ServiceFamilies.brokerRoundTrip) { seconds().map { .init($0.seconds, $0.broker) } })
    }
}
