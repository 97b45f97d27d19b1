import Glibc
import PushmillTelemetry

/// Asks a service's admin endpoint.
struct AdminClient: Sendable {
    private let request: ProbeRequest
    private let token: String

    /// The address at which the service says that it listens.
    static func address(of service: ServiceProcess) -> String? {
        let line = service.lines.first { $0.contains(#""listen":""#) }
        return (line?.firstMatch(of: /"listen":"([0-9.:]+)"/)?.output.1).map(String.init)
    }

    init?(of service: ServiceProcess, token: String = "") throws {
        guard let address = Self.address(of: service) else { return nil }
        request = ProbeRequest(try ListenAddress(address), patience: 30)
        self.token = token
    }

    /// The whole answer, status line and headers included. Blocks.
    func ask(_ path: String, accept: String = "*/*") throws -> String {
        try request.ask(path, headers: [("Accept", accept), ("Authorization", "Bearer \(token)")])
    }

    /// Asks for the metrics, or for another page, until the answer meets the condition: HTTP does not notify clients of
    /// a change.
    func wait(
        for what: String, at path: String = "/metrics", within limit: Duration = .seconds(60),
        until isMet: @escaping @Sendable (String) -> Bool
    ) async throws {
        try await elsewhere {
            let end = ContinuousClock.now + limit
            while try !isMet(ask(path)) {
                guard .now < end else { throw Overdue(what: what, limit: limit) }
                usleep(10_000)
            }
        }
    }
}

extension String {
    /// The value of a series in the text of a scrape.
    func value(of series: String) -> Double? {
        let line = split(whereSeparator: \.isNewline).first { $0.hasPrefix("\(series) ") }
        return line.flatMap { Double($0.dropFirst(series.count + 1)) }
    }
}
