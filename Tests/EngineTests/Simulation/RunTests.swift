import Simulation
import Testing

@Suite("Simulated runs")
struct RunTests {
    @Test("A seed repeats its run to the byte", arguments: [1, 2, 3] as [UInt64])
    func repeats(seed: UInt64) {
        let first = Run(Scenario(seed: seed), isHistoryKept: true)
        let second = Run(Scenario(seed: seed), isHistoryKept: true)
        #expect(first.play() == second.play())
        #expect(first.timeline.history.digest == second.timeline.history.digest)
        #expect(first.timeline.history.lines == second.timeline.history.lines)
        #expect(first.timeline.history.lines.count > 100)
    }

    @Test("Without faults nothing is found, and nothing repeated", arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func orderly(seed: UInt64) {
        #expect(Run(Scenario(seed: seed, faults: 0)).play() == [])
    }
}
