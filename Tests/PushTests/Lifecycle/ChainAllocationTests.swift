import PushmillBenchmarks
import PushmillStages
import Testing

@Suite("Allocations on a message's way through the chain")
struct ChainAllocationTests {
    @Test("A chain without waiting stages stays within the allocation budget", .enabled(if: AllocationBudget.holds))
    func budget() {
        for measurement in Measurement.chain(messages: 1000) {
            #expect(measurement.allocations <= Double(AllocationBudget.chain))
        }
    }
}
