import Testing

@testable import PushmillPayload

@Suite("Records that are lent")
struct InputRecordTests {
    @Test(
        "What was copied stays when the lender takes his bytes back, however large it is",
        arguments: [0, 1, 300, 100_000])
    func own(size: Int) {
        let texts = ["key", "value", "recipient", "anna", "big"].map { Array($0.utf8) }
        let big = Array(repeating: UInt8(7), count: size)
        let lent = (texts + [big]).map { bytes in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
            copy.copyBytes(from: bytes)
            return UnsafeMutableRawBufferPointer(rebasing: copy[..<bytes.count])
        }
        defer { for buffer in lent { buffer.baseAddress?.deallocate() } }
        let parts = lent.map { UnsafeRawBufferPointer($0) }
        let headers = [
            RecordHeader(name: parts[2], value: parts[3]), RecordHeader(name: parts[4], value: parts[5]),
            RecordHeader(name: parts[4], value: nil),
        ]
        let record = InputRecord()
        // The second time there is room already.
        for _ in 0..<2 {
            record.clear()
            record.fill(.nowhere, timestamp: 5, key: parts[0], value: parts[1], headers: 3) { headers[$0] }
            record.own()
            for (buffer, bytes) in zip(lent, texts + [big]) {
                buffer.initializeMemory(as: UInt8.self, repeating: 0)
                #expect(buffer.count == bytes.count)
            }
            #expect(record.key.map(Array.init) == texts[0])
            #expect(record.value.map(Array.init) == texts[1])
            #expect(record.recipient.map(Array.init) == texts[3])
            #expect(record.headers.map { Array($0.name) } == [texts[2], texts[4], texts[4]])
            #expect(record.headers.map { $0.value.map(Array.init) } == [texts[3], big, nil])
            for (buffer, bytes) in zip(lent, texts + [big]) { buffer.copyBytes(from: bytes) }
        }
    }
}
