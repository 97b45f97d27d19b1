import PushmillBenchmarks
import PushmillStages
import Testing

@Suite("What the life of a message allocates")
struct ChainAllocationTests {
    @Test("A chain that nothing holds up keeps to its budget", .enabled(if: AllocationBudget.holds))
    func budget() {
        for measurement in Measurement.chain(messages: 1000) {
            #expect(measurement.allocations <= Double(AllocationBudget.chain))
        }
    }
}
