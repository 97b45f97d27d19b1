import Telemetry

extension MetricRegistry {
    /// What an engine would tell.
    func addWork() {
        addInFlight { (5, 900) }
        addLag { [("in", 3, 7)] }
        addPaused { [("in", 3, true)] }
        addRestoreLeft { 0 }
        addBusy { [1.5] }
        addProducerQueue { (2, 60) }
        addBrokerRoundTrips { [("producer", 1, 0.002)] }
    }
}
