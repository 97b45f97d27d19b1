import PushmillBenchmarks
import Testing

@Suite("What decrypting allocates")
struct DecryptAllocationTests {
    @Test("Forms without key agreement keep to their budget", .enabled(if: AllocationBudget.holds))
    func budget() throws {
        for measurement in try Measurement.decrypt(messages: 1000) where measurement.name != "decrypt, web push" {
            #expect(measurement.allocations <= Double(AllocationBudget.decrypt), "\(measurement.name)")
        }
    }
}
