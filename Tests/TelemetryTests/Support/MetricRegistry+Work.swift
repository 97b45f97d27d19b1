import Telemetry

extension MetricRegistry {
    /// What a worker would tell.
    func addWork() {
        addInFlight { (5, 900) }
        addLag { [("in", 3, 7)] }
        addProducerQueue { (2, 60) }
        addBrokerRoundTrips { [("producer", 1, 0.002)] }
    }
}
