import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct LogEscapingTests {
    private struct Line: Decodable {
        let message: String
        let error: String?
        let truncated: Bool?
    }

    private func decode(_ line: String) throws -> Line { try JSONDecoder().decode(Line.self, from: Data(line.utf8)) }

    @Test(
        "Any text reads back unchanged from a JSON line",
        arguments: [
            "", "plain", "quote \" backslash \\ slash /", "line\nfeed\rtab\t", "\u{0}\u{1}\u{1F}\u{7F}",
            "\u{85}\u{9B}31m", "\u{202E}reversed\u{2066}isolate", "\u{2028}\u{2029}", "e\u{301} 👩‍👩‍👧 \u{10FFFF}",
        ])
    func roundTrip(_ text: String) throws {
        let log = Log()
        log.info("Text", [.error(text: text)])
        let line = try #require(log.jsonLines.first)
        try expect(decode(line).error, is: text)
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
    }

    @Test("Bytes that are not UTF-8 become replacement characters")
    func invalidBytes() throws {
        let log = Log()
        log.info("Text", [.error(text: String(decoding: [0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80], as: UTF8.self))])
        let line = try #require(log.jsonLines.first)
        try expect(decode(line).error?.hasPrefix("a\u{FFFD}"), is: true)
    }

    @Test("A number that JSON cannot express is null", arguments: [Double.nan, .infinity, -.infinity])
    func numbers(_ number: Double) {
        let log = Log()
        log.info("Number", [.seconds(number)])
        expect(log.jsonLines.first?.hasSuffix(#""seconds":null}"#), is: true)
    }

    @Test("A line stays below the 4,096 bytes that a pipe takes whole, and stays JSON", arguments: [1, 3, 4, 5, 50])
    func length(_ fields: Int) throws {
        let log = Log()
        let text = String(repeating: "\u{1}é", count: 700)
        log.error("Long", Array(repeating: .error(text: text), count: fields))
        let line = try #require(log.jsonLines.first)
        #expect(line.utf8.count < 4_096)
        try expect(decode(line).truncated, is: (fields > 3 ? true : nil))
        #expect(line.contains("…"))
    }

    @Test("A text line quotes only the values that are not plain")
    func text() {
        let line = LogLine(
            time: 0, level: .info, message: "Joined",
            fields: [.topic("a"), .count(2), .error(text: "b c\n\u{1B}[2J"), .path("")])
        expect(
            String(decoding: line.text, as: UTF8.self),
            is: #"1970-01-01T00:00:00.000Z INFO    Joined topic=a count=2 error="b c\n\u001b[2J" path="""# + "\n")
    }

    @Test("A long text line is cut between two fields")
    func longText() {
        let line = LogLine(
            time: 0, level: .info, message: "Long",
            fields: Array(repeating: .topic(String(repeating: "x", count: 1_000)), count: 10))
        #expect(line.text.count <= 4_096)
        #expect(String(decoding: line.text, as: UTF8.self).hasSuffix("x …\n"))
    }

    @Test(
        "A timestamp is RFC 3339 in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000_999_999, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999_000_000, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000Z"), (-1_000_000, "1969-12-31T23:59:59.999Z"),
            (.max, "2262-04-11T23:47:16.854Z"), (.min, "1677-09-21T00:12:43.145Z"),
        ] as [(Int64, String)])
    func timestamp(_ nanoseconds: Int64, _ expected: String) {
        var bytes: [UInt8] = []
        bytes.append(timestamp: nanoseconds)
        expect(String(decoding: bytes, as: UTF8.self), is: expected)
    }
}
