import PushmillBenchmarks
import PushmillPayload
import PushmillTestSupport
import Testing

/// Mutated input through reading, editing and rendering: nothing may trap, and the output must be valid.
@Suite("Mutated payloads")
struct PayloadMutationTests {
    private static let lanes: UInt64 = 8

    private static let seeds = [
        PayloadSample.json,
        #"{"aps":{"alert":"h\u00e9llo","badge":1,"mutable-content":1},"x":[1e2,{"y":"\ud83d"}],"x":null}"#,
        #"{ "aps" : {"alert":{"loc-key":"K","loc-args":["a",1],"subtitle":"s" } , "mutable-content":1.0 }, "":{"a/b":""} }"#,
    ]

    @Test("Mutated payloads never trap, and readable ones stay valid after any edits", arguments: 0..<Self.lanes)
    func mutated(seed: UInt64) throws {
        var generator = DocumentGenerator(seed: seed)
        var content = NotificationContent()
        var output: [UInt8] = []
        var read = 0
        for _ in 0..<Mutations.count / Int(Self.lanes) {
            var bytes = Array(
                (generator.random.chance(70) ? generator.random.pick(Self.seeds) : generator.document().text).utf8)
            generator.random.mutate(&bytes)
            guard content.reads(bytes) else { continue }
            read += 1
            try check(&content, bytes, &generator.random, &output)
        }
        #expect(read > Mutations.count / Int(Self.lanes) / 20, "seed \(seed) reads too few documents to say anything")
    }

    private func check(
        _ content: inout NotificationContent, _ bytes: [UInt8], _ random: inout SeededGenerator, _ output: inout [UInt8]
    ) throws {
        try render(content, &output)
        expect(output, is: bytes, "untouched, yet changed: \(bytes)")

        let savepoint = content.savepoint()
        let copy = content
        for _ in 0..<Int.random(in: 1...5, using: &random) { edit(&content, &random, bytes) }
        try render(content, &output)
        var again = NotificationContent()
        #expect(again.document.isReadable(output), "edits broke \(bytes)")
        if again.reads(output) {
            for text in AlertText.allCases { expect(again.text(text), is: content.text(text), "\(text) of \(bytes)") }
            #expect(again.hasAlertText == content.hasAlertText && again.badge == content.badge, "\(bytes)")
        }

        content.rollback(to: savepoint)
        try render(content, &output)
        expect(output, is: bytes, "rolled back, yet changed: \(bytes)")
        try render(copy, &output)
        expect(output, is: bytes, "a copy changed: \(bytes)")
    }

    private func render(_ content: NotificationContent, _ output: inout [UInt8]) throws {
        output.removeAll(keepingCapacity: true)
        content.render(into: &output)
        expect(output.count, is: content.renderedByteCount)
    }

    private func edit(_ content: inout NotificationContent, _ random: inout SeededGenerator, _ bytes: [UInt8]) {
        let text = random.pick(AlertText.allCases)
        let start = Int.random(in: 0...bytes.count, using: &random)
        let piece = bytes[start..<min(bytes.count, start + 12)]
        let pointer = random.pick(Self.pointers)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: Array(piece).withUnsafeBufferPointer { content.setText(text, to: $0.span) }
        case 1: content.setText(text, to: random.chance(30) ? nil : "é\n")
        case 2: content.badge = random.chance(20) ? nil : .random(in: .min ... .max, using: &random)
        case 3: content.category = random.chance(30) ? nil : "c"
        case 4: content.remove(pointer)
        case 5: content.set(json: Array(piece).span, at: pointer)
        case 6: content.set("x", at: pointer)
        case 7: _ = content.shorten(toFit: Int.random(in: 0...bytes.count, using: &random))
        default:
            let document = content.document
            document.forEachChild(of: document.root) { content.copyDecrypted($0, of: document) }
        }
    }

    private static let pointers = [
        "/aps", "/aps/alert", "/aps/alert/body", "/aps/alert/title", "/x", "/x/0", "/x/1/y", "/x/-", "/a/b/c", "/",
        "//a~1b",
    ].compactMap { JSONPointer($0) }
}

extension NotificationContent {
    fileprivate mutating func reads(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in (try? read(bytes)) != nil }
    }
}

extension JSONDocument {
    fileprivate func isReadable(_ bytes: [UInt8]) -> Bool {
        var document = JSONDocument()
        return (try? document.read(bytes)) != nil
    }
}
