import PushmillTelemetry

extension MetricRegistry {
    /// What an engine would tell.
    func addWork() {
        addInFlight { (5, 900) }
        addBacklog { [("in", 3, 7, 2.5), ("in", 4, nil, 0)] }
        addPaused { [("in", 3, true)] }
        addRestoreLeft { 0 }
        addBusy { [1.5] }
        addMedia { [MediaFigures(path: "/media", bytes: 7, limit: 4000, free: 1000, refusals: 2)] }
        addProducerQueue { (2, 60) }
        addBrokerRoundTrips { [("producer", 1, 0.002)] }
    }
}
