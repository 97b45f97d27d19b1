import PushmillTelemetry

extension Log {
    /// The lines that the ring holds, as JSON without line feeds.
    var jsonLines: [String] {
        var cursor = 0
        return ring.read(from: &cursor, limit: .max / 2).lines.map {
            String(decoding: $0.json.dropLast(), as: UTF8.self)
        }
    }
}
