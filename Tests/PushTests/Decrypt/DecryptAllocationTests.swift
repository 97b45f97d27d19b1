import PushmillBenchmarks
import PushmillCiphers
import PushmillPayload
import PushmillStages
import Testing

@Suite("What decrypting allocates")
struct DecryptAllocationTests {
    @Test(
        "Forms without key agreement keep to their budget", .enabled(if: AllocationBudget.holds),
        arguments: DecryptSample.forms.filter { $0.1 != .webPush }.map(\.keyName))
    func budget(keyName: String) throws {
        let sample = try DecryptSample()
        let form = try #require(DecryptSample.forms.first { $0.keyName == keyName })
        var content = try sample.content(form.1, keyName)
        let mark = content.mark()
        var opened = 0
        func turns(_ count: Int) {
            for _ in 0..<count {
                if sample.receive(&content) == .ok { opened += 1 }
                content.rollback(to: mark)
            }
        }
        turns(3)
        let allocations = Measurement.allocations { turns(1000) }
        #expect(allocations <= AllocationBudget.decrypt * 1000)
        #expect(opened == 1003)
    }
}
