import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("JSON Lines")
struct JSONLinesTests {
    @Test("Members are separated by commas, and bytes that are not text are written in base64")
    func members() {
        var lines = Array("{".utf8)
        lines.append(#"a"é"#, as: "text")
        ([0xFF] as [UInt8]).withUnsafeBytes { lines.append($0, as: "raw") }
        lines.append(nil, as: "nothing")
        lines.append(-3, as: "number")
        lines.append("}\n{")
        lines.append(Int32.max, as: "number")
        lines.append("}\n")
        let text = """
            {"text":"a\\"é","raw_b64":"/w==","nothing":null,"number":-3}
            {"number":2147483647}

            """
        expect(String(decoding: lines, as: UTF8.self), is: text)
    }
}
