import PushmillTestSupport
import Testing

@testable import PushmillPayload

@Suite("Borrowed records")
struct InputRecordTests {
    @Test(
        "A record's own copy stays intact after the lender overwrites the bytes, at any size",
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
        // The second round reuses the memory of the first.
        for _ in 0..<2 {
            record.clear()
            record.fill(.nowhere, timestamp: 5, key: parts[0], value: parts[1], headers: 3) { headers[$0] }
            record.own()
            for (buffer, bytes) in zip(lent, texts + [big]) {
                buffer.initializeMemory(as: UInt8.self, repeating: 0)
                expect(buffer.count, is: bytes.count)
            }
            expect(record.key.map(Array.init), is: texts[0])
            expect(record.value.map(Array.init), is: texts[1])
            expect(record.recipient.map(Array.init), is: texts[3])
            expect(record.headers.map { Array($0.name) }, is: [texts[2], texts[4], texts[4]])
            expect(record.headers.map { $0.value.map(Array.init) }, is: [texts[3], big, nil])
            for (buffer, bytes) in zip(lent, texts + [big]) { buffer.copyBytes(from: bytes) }
        }
    }
}

/// What a record keeps when it is cleared, and what it frees.
@Suite("Reused records")
struct ClearedRecordTests {
    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    @Test("A cleared record is empty, and its next headers are found")
    func cleared() {
        let record = InputRecord()
        let known = KnownHeader.allCases
        record.fill(
            .nowhere, timestamp: 7, key: Self.bytes("key"), value: Self.bytes("value"), headers: known.count
        ) { RecordHeader(name: Self.bytes(known[$0].name), value: Self.bytes("old")) }
        for header in known { #expect(record.has(header) && record.value(of: header)?.hasBytes("old") == true) }
        record.clear()
        #expect(record.timestamp == 0 && record.key == nil && record.value == nil && record.recipient == nil)
        #expect(record.headers.isEmpty)
        for header in known { #expect(!record.has(header) && record.value(of: header) == nil) }
        #expect(record.value(of: Self.bytes("recipient")) == nil)

        record.fill(.nowhere, timestamp: 8, key: Self.bytes("key"), value: nil, headers: 2) {
            RecordHeader(name: Self.bytes("locale"), value: $0 == 0 ? Self.bytes("de") : Self.bytes("fr"))
        }
        expect(record.value(of: .locale)?.hasBytes("fr"), is: true)
        expect(record.recipient?.hasBytes("key"), is: true)
        expect(known.filter { record.has($0) }, is: [.locale])
    }

    @Test("A record that is filled again has only the new headers")
    func filledAgain() {
        let record = InputRecord()
        var envelope = RecordEnvelope()
        for name in ["recipient", "x", "locale"] {
            envelope.headers = [RecordEnvelope.Header(name: Array(name.utf8), value: Array(name.utf8))]
            record.fill(envelope, topic: SourceTopic("t"))
            expect(record.headers.map { Array($0.name) }, is: [Array(name.utf8)])
            expect(record.has(.recipient), is: (name == "recipient"))
            expect(record.recipient.map(Array.init), is: (name == "recipient" ? Array(name.utf8) : nil))
            expect(record.has(.locale), is: (name == "locale"))
        }
    }

    @Test("Very many empty headers count by their number, and their memory is freed")
    func many() {
        let record = InputRecord()
        let count = 100_000
        record.fill(.nowhere, timestamp: 0, key: nil, value: nil, headers: count) { _ in
            RecordHeader(name: Self.bytes(""), value: nil)
        }
        expect(record.headerByteCount, is: count * MemoryLayout<RecordHeader>.stride)
        record.clear()
        #expect(record.headers.capacity * MemoryLayout<RecordHeader>.stride <= OutputRecord.keptCapacity)
    }

    @Test("Clearing frees the memory of a large record and keeps that of a usual one")
    func large() {
        let record = InputRecord()
        var envelope = RecordEnvelope()
        for (count, isLarge) in [
            (OutputRecord.keptCapacity, false), (OutputRecord.keptCapacity + 1, true), (10, false),
        ] {
            envelope.payload = [UInt8](repeating: 7, count: count)
            record.fill(envelope, topic: SourceTopic("t"))
            expect(record.value.map(Array.init), is: envelope.payload)
            expect(record.isLarge, is: isLarge)
            record.clear()
            #expect(!record.isLarge)
        }
        let lent = [UInt8](repeating: 8, count: OutputRecord.keptCapacity)
        lent.withUnsafeBytes { value in
            record.fill(.nowhere, timestamp: 0, key: Self.bytes("k"), value: value, headers: 0) { _ in nil }
            record.own()
        }
        #expect(record.isLarge && record.value.map(Array.init) == lent)
        record.clear()
        #expect(!record.isLarge)
    }

    @Test("A record's headers end at the first one that the lender does not give")
    func fewer() {
        let record = InputRecord()
        record.fill(.nowhere, timestamp: 0, key: nil, value: nil, headers: 3) {
            $0 == 0 ? RecordHeader(name: Self.bytes("recipient"), value: Self.bytes("anna")) : nil
        }
        expect(record.headers.count, is: 1)
        expect(record.recipient?.hasBytes("anna"), is: true)
    }

    @Test("A header name is known only if all its bytes match")
    func names() {
        func known(_ name: [UInt8]) -> KnownHeader? { name.withUnsafeBytes { KnownHeader($0) } }
        for header in KnownHeader.allCases {
            let name = Array(Self.bytes(header.name))
            expect(known(name), is: header)
            #expect(known(name.dropLast() + [UInt8(ascii: "_")]) == nil)
            #expect(known(name.dropLast()) == nil && known(name + [UInt8(ascii: "s")]) == nil)
            #expect(known([name[0] ^ 0x20] + name.dropFirst()) == nil)
        }
        #expect(known([]) == nil)
    }
}
