import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct AcceptTests {
    private let formats = Exposition.Format.allCases.map(\.contentType)

    @Test(
        "An Accept header selects the metrics format, or none",
        arguments: [
            (nil, 0), ("", 0), ("*/*", 0), ("text/plain", 0), ("text/*", 0), ("application/*", 1),
            ("application/openmetrics-text", 1), ("APPLICATION/OpenMetrics-Text; Version=1.0.0", 1),
            ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4", 1),
            ("application/openmetrics-text;version=1.0.0;q=0.3 , text/plain;q=0.4", 0),
            ("application/openmetrics-text;version=0.0.1", nil), ("text/plain;version=1.0.0", nil),
            (
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8;q=0.9,*/*;q=0.1",
                1
            ),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 0),
            ("application/json", nil), ("text/plain;q=0", nil), ("text/plain;q=0,*/*", 1), ("*/*;q=0", nil),
            ("text/plain;q=nan", nil), ("text/plain;q=x", nil), ("text/plain;q=7", 0), ("garbage", 0), (",;=/,", 0),
            ("text/plain;;;q=1", 0), ("text/plain;version=\"0.0.4\"", 0),
            ("application/openmetrics-text; version=\"1.0.0\";q=0.9, text/plain;q=\"0.5\"", 1),
        ] as [(String?, Int?)])
    func metrics(_ header: String?, _ expected: Int?) {
        expect(Accept(header).preferred(of: formats), is: expected)
    }

    @Test("Only the first kilobyte of an Accept header is read")
    func long() {
        expect(Accept(String(repeating: "a/b,", count: 255) + "*/*").preferred(of: formats), is: 0)
        #expect(Accept(String(repeating: "a/b,", count: 256) + "*/*").preferred(of: formats) == nil)
    }
}
