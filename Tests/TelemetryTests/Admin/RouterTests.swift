import Testing

@testable import Telemetry

@Suite struct RouterTests {
    private func router(token: String = "") -> Router {
        Router(
            [
                AdminRoute("GET", "/open", access: .open, offers: []) { _, _ in .text("open") },
                AdminRoute("GET", "/thing", offers: ["text/plain"]) { _, _ in .text("thing") },
                AdminRoute("PUT", "/thing", offers: ["text/plain"]) { request, _ in
                    .text(String(decoding: request.body, as: UTF8.self))
                },
            ], token: AccessToken(token))
    }

    private func header(_ name: String, of response: AdminResponse) -> String? {
        response.headers.first { $0.name == name }?.value
    }

    @Test(
        "The status for a method and a path",
        arguments: [
            ("GET", "/thing", 200), ("HEAD", "/thing", 200), ("PUT", "/thing", 200), ("POST", "/thing", 405),
            ("get", "/thing", 405), ("", "/thing", 405), ("PUT", "/open", 405), ("GET", "/thing/", 404),
            ("GET", "/Thing", 404), ("GET", "", 404), ("OPTIONS", "*", 404), ("GET", "/../thing", 404),
        ])
    func status(_ method: String, _ path: String, _ expected: Int) {
        #expect(router().respond(to: AdminRequest(method, path)).status == expected)
    }

    @Test("A method that is not allowed is told which are")
    func allow() {
        #expect(header("Allow", of: router().respond(to: AdminRequest("POST", "/thing"))) == "GET, HEAD, PUT")
        #expect(header("Allow", of: router().respond(to: AdminRequest("POST", "/open"))) == "GET, HEAD")
    }

    @Test("A type that cannot be had is refused, except where anything goes")
    func notAcceptable() {
        #expect(router().respond(to: AdminRequest("GET", "/thing", accept: "image/png")).status == 406)
        #expect(router().respond(to: AdminRequest("GET", "/open", accept: "image/png")).status == 200)
    }

    @Test("Without the token only the open paths answer, and a stranger does not learn the others")
    func token() {
        let router = router(token: "s3cret")
        #expect(router.respond(to: AdminRequest("GET", "/open")).status == 200)
        for (method, path) in [("GET", "/thing"), ("POST", "/thing"), ("GET", "/nothing")] {
            let response = router.respond(to: AdminRequest(method, path, authorization: "Bearer wrong"))
            #expect(response.status == 401)
            #expect(header("WWW-Authenticate", of: response)?.hasPrefix("Bearer") == true)
        }
        #expect(router.respond(to: AdminRequest("GET", "/thing", authorization: "Bearer s3cret")).status == 200)
    }
}
