import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct AdminServerTests {
    @Test("Metrics come in the format that the client requests")
    func metrics() throws {
        let test = try TestServer()
        let plain = try test.ask("GET /metrics")
        #expect(plain.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(plain.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(plain.hasSuffix("test_total 3\n"))
        let open = try test.ask("GET /metrics", headers: "accept: application/openmetrics-text\r\n")
        #expect(open.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"))
        #expect(open.hasSuffix("test_total 3\n# EOF\n"))
        #expect(try test.ask("GET /metrics", headers: "Accept: image/png\r\n").contains(" 406 "))
    }

    @Test("A page that reaches the server by DNS rebinding reads and changes nothing")
    func rebound() throws {
        let test = try TestServer()
        for request in ["GET /config", "GET /metrics", "PUT /log-level"] {
            let client = try test.connect()
            client.send(
                "\(request) HTTP/1.1\r\nHost: evil.example:9464\r\nConnection: close\r\nContent-Length: 4\r\n\r\ninfo")
            #expect(client.readToEnd().hasPrefix("HTTP/1.1 403 "), "\(request)")
        }
        let foreign = try test.ask("PUT /log-level", headers: "Origin: http://evil.example\r\n", body: "info")
        #expect(foreign.hasPrefix("HTTP/1.1 403 "))
        expect(test.log.level, is: .debug)
    }

    @Test("Two Accept headers are read as one list")
    func acceptTwice() throws {
        let test = try TestServer()
        let headers = "Accept: text/plain;q=0.1\r\nAccept: application/openmetrics-text\r\n"
        #expect(try test.ask("GET /metrics", headers: headers).hasSuffix("# EOF\n"))
    }

    @Test("HEAD is answered with headers and no body", arguments: ["/metrics", "/healthz", "/config", "/logs"])
    func head(_ path: String) throws {
        let test = try TestServer()
        test.log.info("Line")
        let head = try test.ask("HEAD \(path)")
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(head.hasSuffix("\r\n\r\n"))
    }

    @Test("A path with an escaped NUL is not that before the NUL", arguments: ["/metrics%00", "/healthz%00x"])
    func escapedNul(_ path: String) throws {
        #expect(try TestServer().ask("GET \(path)").hasPrefix("HTTP/1.1 404 "))
    }

    @Test("Every answer carries the security headers", arguments: ["/metrics", "/nothing", "/config"])
    func security(_ path: String) throws {
        let answer = try TestServer().ask("GET \(path)")
        for header in [
            "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY", "Content-Security-Policy: default-src 'none'",
        ] {
            #expect(answer.contains("\r\n\(header)"))
        }
    }

    @Test("A probe answers with its reasons as JSON")
    func probe() throws {
        let bad = try TestServer(alive: { [ProbeReason("lane-stuck", "Lane 3 has \"stopped\".")] })
        let answer = try bad.ask("GET /healthz", headers: "Accept: text/html\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(
            answer.hasSuffix(
                #"{"status":"unavailable","reasons":[{"reason":"lane-stuck","detail":"Lane 3 has \"stopped\"."}]}"#
                    + "\n"))
        #expect(try TestServer().ask("GET /healthz").hasSuffix(#"{"status":"ok","reasons":[]}"# + "\n"))
    }

    @Test("PUT sets only known log levels", arguments: [("trace", 200), ("error\n", 200), ("loud", 400), ("", 400)])
    func logLevel(_ body: String, _ status: Int) throws {
        let test = try TestServer()
        #expect(try test.ask("PUT /log-level", body: body).hasPrefix("HTTP/1.1 \(status) "))
        let level = test.log.level.name
        expect(level, is: (status == 200 ? String(body.prefix(5)) : "debug"))
        #expect(try test.ask("GET /log-level").hasSuffix(#"{"level":"\#(level)"}"# + "\n"))
    }

    @Test("If there is a token, only probes and metrics are open without it")
    func token() throws {
        let test = try TestServer(token: "s3cret")
        for path in ["/config", "/logs", "/log-level", "/", "/nothing"] {
            #expect(try test.ask("GET \(path)").hasPrefix("HTTP/1.1 401 "))
        }
        for path in ["/metrics", "/healthz"] { #expect(try test.ask("GET \(path)").contains(" 200 OK")) }
        let config = try test.ask("GET /config", headers: "Authorization: Bearer s3cret\r\n")
        #expect(config.hasSuffix("log:\n  level: info\n"))
    }

    @Test(
        "Logs can be queried by level, text and number of lines",
        arguments: [
            ("?level=warning", 2), ("?contains=ONE", 1), ("?limit=1", 1), ("?limit=0", 0),
            ("?contains=%22count%22%3A2", 1), ("", 3), ("?contains=%00", 0), ("?contains=One%00Two", 0),
        ])
    func logs(_ query: String, _ lines: Int) throws {
        let test = try TestServer()
        test.log.info("One", [.count(1)])
        test.log.warning("Two", [.count(2)])
        test.log.error("Three", [.count(3)])
        let answer = try test.ask("GET /logs\(query)")
        #expect(answer.contains("Content-Type: application/x-ndjson\r\n"))
        expect(answer.split(separator: #"{"time":""#).count - 1, is: lines)
    }

    @Test(
        "A log query with an invalid value is refused",
        arguments: ["level=loud", "limit=-1", "limit=x", "limit=99999999999999999999"])
    func badQuery(_ query: String) throws {
        #expect(try TestServer().ask("GET /logs?\(query)").hasPrefix("HTTP/1.1 400 "))
    }

    /// Containers often have no IPv6 address.
    private static let hasIPv6: Bool = {
        guard let addresses = fopen("/proc/net/if_inet6", "r") else { return false }
        defer { fclose(addresses) }
        return fgetc(addresses) >= 0
    }()

    @Test("The server listens on IPv6 too", .enabled(if: hasIPv6, "this machine has no IPv6"))
    func ipv6() throws {
        let test = try TestServer(listen: "[::1]:0")
        #expect(try test.ask("GET /healthz").contains(" 200 OK"))
    }

    @Test("A port in use and an address of another machine are distinct errors")
    func portInUse() throws {
        let test = try TestServer()
        #expect(throws: TelemetryError.addressInUse("\(test.address)")) { try TestServer(listen: "\(test.address)") }
        #expect(throws: TelemetryError.cannotListen("192.0.2.1:0", EADDRNOTAVAIL)) {
            try TestServer(listen: "192.0.2.1:0")
        }
    }

    @Test("A closed server does not listen, and closing it twice does no harm")
    func close() throws {
        // Another process may take the port that is free again.
        for _ in 0..<3 {
            let test = try TestServer()
            let idle = try test.connect()
            test.server.close()
            test.server.close()
            #expect(idle.readToEnd().isEmpty)
            do {
                try TestServer(listen: "\(test.address)").server.close()
                return
            } catch TelemetryError.addressInUse {
                continue
            }
        }
        Issue.record("three ports were in use after the end of their servers")
    }
}
