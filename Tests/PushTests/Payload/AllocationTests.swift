import PushmillBenchmarks
import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Allocations of a payload")
struct AllocationTests {
    @Test("The allocation count covers objects, strings and raw memory")
    func counts() {
        final class Object { var next: Object? }
        var kept: [Object] = []
        kept.reserveCapacity(100)
        let objects = Measurement.allocations { for _ in 0..<100 { kept.append(Object()) } }
        expect(objects, is: 100)
        var strings: [String] = []
        strings.reserveCapacity(100)
        let texts = Measurement.allocations {
            for number in 0..<100 { strings.append("a string too long to be kept in place, \(number)") }
        }
        #expect(texts >= 100)
        expect(Measurement.allocations { UnsafeMutablePointer<Int>.allocate(capacity: 1).deallocate() }, is: 1)
        expect(Measurement.allocations {}, is: 0)
    }

    @Test("A reference that is stored again is counted")
    func references() {
        final class Object {}
        let object = Object()
        var kept: [Object?] = Array(repeating: nil, count: 100)
        let measured = Measurement("assign", messages: 100, batches: 1) {
            for index in kept.indices { kept[index] = index.isMultiple(of: 2) ? object : nil }
        }
        #expect(measured.references >= 100)
        expect(Measurement("nothing", messages: 100, batches: 1) {}.references, is: 0)
    }

    @Test("Gate, read, three edits and render stay within their budget", .enabled(if: AllocationBudget.holds))
    func turn() throws {
        let payload = Array(PayloadSample.json.utf8)
        var content = NotificationContent()
        var output: [UInt8] = []
        func turns(_ count: Int) throws {
            try payload.withUnsafeBytes { payload in
                for _ in 0..<count { try PayloadSample.turn(payload, &content, &output) }
            }
        }
        try turns(3)
        let allocations = try Measurement.allocations { try turns(1000) }
        #expect(allocations <= AllocationBudget.payload * 1000)
        #expect(String(decoding: output, as: UTF8.self).contains(#""title":"Zoë Martin in Sailing club""#))
    }
}
