@testable import PushmillTelemetry

/// The admin endpoint on a free port, with one metric and a log.
struct TestServer {
    let registry = MetricRegistry()
    let log = Log(level: .debug)
    let server: AdminServer

    var address: ListenAddress { server.address }

    init(
        token: String = "", limits: AdminLimits = AdminLimits(), listen: String = "127.0.0.1:0",
        alive: @escaping Probe = { [] }
    ) throws {
        registry.counters("test_total", "Test.").series().add(3)
        let routes: [AdminRoute] =
            [
                .metrics(registry), .probe("/healthz", alive), .configuration { "log:\n  level: info\n" }, .logs(log),
            ] + AdminRoute.logLevel(log)
        server = try AdminServer(
            ListenAddress(listen), Router(routes, token: AccessToken(token)), limits: limits)
    }

    func connect() throws -> Client { try Client(server) }

    /// Sends one request on its own connection and returns the whole answer, status line and headers included.
    func ask(_ head: String, headers: String = "", body: String = "") throws -> String {
        let client = try connect()
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        client.send("\(head) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(length)\(headers)\r\n\(body)")
        return client.readToEnd()
    }
}
