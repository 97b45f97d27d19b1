import PushmillBenchmarks
import Testing

@Suite("Allocations of the decrypt stage")
struct DecryptAllocationTests {
    @Test("Decrypting without key agreement stays within the allocation budget", .enabled(if: AllocationBudget.holds))
    func budget() throws {
        for measurement in try Measurement.decrypt(messages: 1000) where measurement.name != "decrypt, web push" {
            #expect(measurement.allocations <= Double(AllocationBudget.decrypt), "\(measurement.name)")
        }
    }
}
