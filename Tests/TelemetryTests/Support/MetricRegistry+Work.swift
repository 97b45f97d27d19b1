import PushmillTelemetry

extension MetricRegistry {
    /// Adds the metrics that are measured of an engine, its partitions and folders.
    func addWork() {
        measure(.ready) { [.init(0)] }
        measure(.inFlightMessages) { [.init(5)] }
        measure(.inFlightBytes) { [.init(900)] }
        measure(.lag) { [.init(7, "in", "3")] }
        measure(.oldestUnfinished) { [.init(2.5, "in", "3")] }
        measure(.paused) { [.init(1, "in", "3")] }
        measure(.restoreLeft) { [.init(0)] }
        measure(.contactsFailing) { [.init(0)] }
        measure(.busy) { [.init(1.5, "0")] }
        for family: MetricDescription in [.mediaBytes, .mediaLimit, .mediaFree, .mediaRefused] {
            measure(family) { [.init(7, "/media")] }
        }
        measure(.producerQueueMessages) { [.init(2)] }
        measure(.producerQueueBytes) { [.init(60)] }
        measure(.brokerRoundTrip) { [.init(0.002, "producer", "1")] }
    }
}
