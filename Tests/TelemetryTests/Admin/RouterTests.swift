import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillTelemetry

@Suite struct RouterTests {
    private func router(token: String = "") -> Router {
        Router(
            [
                AdminRoute("GET", "/open", access: .open) { _ in .text("open") },
                AdminRoute("GET", "/thing") { _ in .text("thing") },
                AdminRoute("PUT", "/thing") { .text(String(decoding: $0.body, as: UTF8.self)) },
            ], token: AccessToken(token))
    }

    private func header(_ name: String, of response: AdminResponse) -> String? {
        response.headers.first { $0.name == name }?.value
    }

    @Test(
        "A known path with a wrong method is 405, an unknown path 404",
        arguments: [
            ("GET", "/thing", 200), ("HEAD", "/thing", 200), ("PUT", "/thing", 200), ("POST", "/thing", 405),
            ("get", "/thing", 405), ("", "/thing", 405), ("PUT", "/open", 405), ("GET", "/thing/", 404),
            ("GET", "/Thing", 404), ("GET", "", 404), ("OPTIONS", "*", 404), ("GET", "/../thing", 404),
        ])
    func status(_ method: String, _ path: String, _ expected: Int) {
        expect(router().respond(to: AdminRequest(method: method, path: path)).status, is: expected)
    }

    @Test(
        "If there is no token, only requests to a loopback host name are answered",
        arguments: [
            ("localhost", true), ("LOCALHOST:9464", true), ("pushmill.localhost:9464", true), ("localhost.", true),
            ("127.0.0.1:9464", true), ("127.9.9.9", true), ("[::1]:9464", true), ("[::1]", true),
            ("evil.example:9464", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example", false),
            ("10.0.0.1:9464", false), ("[::2]:9464", false), ("0.0.0.0:9464", false), ("", false), (":9464", false),
            ("localhost,evil.example", false), ("evil.example,localhost", false), ("[localhost", false),
        ])
    func host(_ host: String, _ isAnswered: Bool) {
        for path in ["/thing", "/open", "/nothing"] {
            let expected = !isAnswered ? 403 : path == "/nothing" ? 404 : 200
            let request = AdminRequest(method: "GET", path: path, host: host)
            expect(router().respond(to: request).status, is: expected, "\(path)")
        }
        let known = AdminRequest(method: "GET", path: "/thing", authorization: "Bearer s3cret", host: host)
        expect(router(token: "s3cret").respond(to: known).status, is: 200)
    }

    @Test("A page of another origin may read and cannot change anything")
    func origin() {
        func status(_ method: String, _ origin: String?) -> Int {
            let request = AdminRequest(method: method, path: "/thing", host: "localhost:9464", origin: origin)
            return router().respond(to: request).status
        }
        expect(status("PUT", nil), is: 200)
        expect(status("PUT", "http://localhost:9464"), is: 200)
        for origin in [
            "http://localhost:9465", "http://evil.example", "null", "", "http://localhost:9464.evil.example",
        ] {
            expect(status("PUT", origin), is: 403, "\(origin)")
            expect(status("GET", origin), is: 200)
        }
    }

    @Test("The answer to a method that is not allowed lists those that are")
    func allow() {
        func allowed(_ path: String) -> String? {
            header("Allow", of: router().respond(to: AdminRequest(method: "POST", path: path)))
        }
        expect(allowed("/thing"), is: "GET, HEAD, PUT")
        expect(allowed("/open"), is: "GET, HEAD")
    }

    @Test("Without the token only open paths answer, and unknown paths look like protected ones")
    func token() {
        let router = router(token: "s3cret")
        expect(router.respond(to: AdminRequest(method: "GET", path: "/open")).status, is: 200)
        for (method, path) in [("GET", "/thing"), ("POST", "/thing"), ("GET", "/nothing")] {
            let response = router.respond(to: AdminRequest(method: method, path: path, authorization: "Bearer wrong"))
            expect(response.status, is: 401)
            expect(header("WWW-Authenticate", of: response)?.hasPrefix("Bearer"), is: true)
        }
        let known = AdminRequest(method: "GET", path: "/thing", authorization: "Bearer s3cret")
        expect(router.respond(to: known).status, is: 200)
    }

    private final class Token: Sendable {
        private let value = Mutex(AccessToken("former"))

        var current: AccessToken? { value.withLock { $0 } }

        func replace() { value.withLock { $0 = AccessToken("present") } }
    }

    @Test("A stream ends when the token that opened it is replaced", arguments: ["former", "present"])
    func replaced(_ word: String) {
        let log = Log()
        let token = Token()
        if word == "present" { token.replace() }
        let router = Router([.logs(log)], token: token.current)
        let request = AdminRequest(
            method: "GET", path: "/logs", query: [(name: "follow", value: "1")], authorization: "Bearer \(word)")
        guard case .stream(let stream) = router.respond(to: request).body else {
            Issue.record("the log is no stream")
            return
        }
        func read() -> LogStream.Step {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            return buffer.withUnsafeMutableBytes { stream.read(into: $0, isQuiet: false) }
        }
        expect(read(), is: .waiting)
        log.info("Before")
        #expect(read() != .end)
        token.replace()
        log.info("After")
        expect((read() == .end), is: (word == "former"))
    }
}
