import Testing

@Suite("Scripted histories of a cluster")
struct ClusterHistoryTests {
    @Test("The simulated cluster answers as brokers do", arguments: ClusterHistory.all)
    func simulated(history: ClusterHistory) throws {
        var cluster = SimulatedClusterUnderTest()
        for (index, step) in history.steps.enumerated() {
            let difference = cluster.play(step)
            #expect(difference == nil, "step \(index): \(step)")
        }
    }
}
