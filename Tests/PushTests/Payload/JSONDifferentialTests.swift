import FoundationEssentials
import PushmillPayload
import PushmillTestSupport
import Testing

/// Where Foundation's decoder and ours may differ, and why ours is right for payloads.
private enum KnownDifference: CaseIterable {
    /// Our depth limit is 128, Foundation's is 512.
    case depth
    /// An escaped surrogate without its other half: valid by the grammar, but Foundation rejects it because no `String`
    /// can hold it. Producers cut texts in the middle of an emoji.
    case loneSurrogate
    /// A number that no `Double` can hold: valid JSON, which stays as it is spelled.
    case numberRange
    /// Foundation skips a byte order mark and reads UTF-16 and UTF-32; RFC 8259 requires UTF-8 without a mark.
    case encoding
    /// Foundation accepts a trailing comma in an object; RFC 8259 does not.
    case trailingComma

    func explains(_ bytes: [UInt8], ours: PayloadError?, foundation: (any Error)?) -> Bool {
        switch (self, ours, foundation) {
        case (.depth, .tooDeep, nil): true
        case (.loneSurrogate, nil, .some): String(decoding: bytes, as: UTF8.self).lowercased().contains("\\ud")
        case (.numberRange, nil, .some): hasNumberBeyondDouble(bytes)
        case (.encoding, .some, nil): bytes.starts(with: [0xEF, 0xBB, 0xBF]) || bytes.prefix(4).contains(0)
        case (.trailingComma, .notJSON(let offset, .missingName), nil): bytes[offset] == UInt8(ascii: "}")
        default: false
        }
    }

    private func hasNumberBeyondDouble(_ bytes: [UInt8]) -> Bool {
        let words = bytes.split { !"0123456789+-.eE".utf8.contains($0) }
        return words.contains { Double(String(decoding: $0, as: UTF8.self)).map { !$0.isFinite || $0 == 0 } ?? false }
    }
}

/// Any JSON value, decoded down to the last scalar, because Foundation checks scalars only when they are decoded.
private enum Anything: Decodable {
    case read

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        self = .read
        if let object = try? decoder.container(keyedBy: Name.self) {
            for name in object.allKeys { _ = try object.decode(Anything.self, forKey: name) }
        } else if var array = try? decoder.unkeyedContainer() {
            while !array.isAtEnd { _ = try array.decode(Anything.self) }
        } else {
            let scalar = try decoder.singleValueContainer()
            if scalar.decodeNil() || (try? scalar.decode(Bool.self)) != nil { return }
            if (try? scalar.decode(String.self)) != nil { return }
            _ = try scalar.decode(Double.self)
        }
    }
}

/// Documents without duplicate members, because Foundation never decodes one that a later one replaces.
@Suite("Comparison with Foundation's decoder")
struct JSONDifferentialTests {
    @Test("Generated documents are read by both decoders", arguments: 0..<10)
    func generated(seed: UInt64) {
        var generator = DocumentGenerator(seed: seed, hasDuplicates: false)
        for _ in 0..<20 { compare(Array(generator.document().text.utf8)) }
    }

    @Test("Mutated documents are read by both decoders or by neither", arguments: 0..<20)
    func mutated(seed: UInt64) {
        var generator = DocumentGenerator(seed: seed, hasDuplicates: false)
        for _ in 0..<10 {
            let bytes = Array(generator.document().text.utf8)
            for _ in 0..<20 {
                var mutant = bytes
                generator.random.mutate(&mutant)
                compare(mutant)
            }
        }
    }

    @Test(
        "The decoders differ only for known reasons",
        arguments: [
            (.depth, Array(repeating: UInt8(ascii: "["), count: 129) + Array(repeating: UInt8(ascii: "]"), count: 129)),
            (.loneSurrogate, Array(#"["\ud83d"]"#.utf8)), (.numberRange, Array("[1e999]".utf8)),
            (.encoding, Array("\u{FEFF}[]".utf8)), (.encoding, [0x5B, 0, 0x5D, 0]),
            (.trailingComma, Array(#"{"a":1 , }"#.utf8)),
        ] as [(KnownDifference, [UInt8])])
    fileprivate func known(_ difference: KnownDifference, bytes: [UInt8]) {
        let (ours, foundation) = verdicts(bytes)
        #expect((ours == nil) != (foundation == nil))
        expect(
            KnownDifference.allCases.filter { $0.explains(bytes, ours: ours, foundation: foundation) }, is: [difference]
        )
    }

    private func verdicts(_ bytes: [UInt8]) -> (ours: PayloadError?, foundation: (any Error)?) {
        var document = JSONDocument()
        var ours: PayloadError?
        var foundation: (any Error)?
        do throws(PayloadError) { try document.read(bytes) } catch { ours = error }
        do { _ = try JSONDecoder().decode(Anything.self, from: Data(bytes)) } catch { foundation = error }
        return (ours, foundation)
    }

    private func compare(_ bytes: [UInt8]) {
        let (ours, foundation) = verdicts(bytes)
        guard (ours == nil) != (foundation == nil) else { return }
        #expect(
            KnownDifference.allCases.contains { $0.explains(bytes, ours: ours, foundation: foundation) },
            "\(bytes): ours \(String(describing: ours)), Foundation's \(String(describing: foundation))")
    }
}
