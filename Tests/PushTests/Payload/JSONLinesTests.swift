import PushmillPayload
import Testing

@Suite("JSON Lines")
struct JSONLinesTests {
    @Test("Members are parted by commas, and what is no text says so")
    func members() {
        var lines = JSONLines()
        lines.begin()
        lines.add("text", #"a"é"#.utf8Span.span.bytes)
        lines.add("raw", ([0xFF] as [UInt8]).span.bytes)
        lines.add("number", -3)
        lines.end()
        lines.begin()
        lines.add("number", .max)
        lines.end()
        let text = """
            {"text":"a\\"é","raw_b64":"/w==","number":-3}
            {"number":2147483647}

            """
        #expect(String(decoding: lines.bytes, as: UTF8.self) == text)
    }
}
