import PushmillTestSupport

extension TemporaryFolder {
    var stateFile: String { "\(path)/state.sqlite" }
}

extension String {
    /// The text's bytes, for functions that take spans.
    func withBytes<Result, E: Error>(_ body: (RawSpan) throws(E) -> Result) throws(E) -> Result {
        let bytes = Array(utf8)
        return try body(bytes.span.bytes)
    }
}

extension RawSpan {
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
