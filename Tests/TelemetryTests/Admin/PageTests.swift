import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct PageTests {
    private let router = Router(AdminRoute.page())

    private func get(_ path: String) throws -> (response: AdminResponse, text: String) {
        let response = router.respond(to: AdminRequest(method: "GET", path: path, accept: "text/html, */*;q=0.8"))
        guard case .bytes(let bytes) = response.body else {
            Issue.record("a page is no stream")
            return (response, "")
        }
        return (response, String(decoding: bytes, as: UTF8.self))
    }

    @Test("Each answer's policy admits only the style and script of that answer")
    func policy() throws {
        let (response, text) = try get("/")
        let policy = try #require(response.headers.first { $0.name == "Content-Security-Policy" }?.value)
        let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([a-z0-9]{12,})'/)?.output.1)
        #expect(policy.hasPrefix("default-src 'none'; "))
        #expect(!policy.contains("unsafe"))
        #expect(text.contains("<script nonce=\"\(nonce)\">") && text.contains("<style nonce=\"\(nonce)\">"))
        expect(text.matches(of: /<(script|style)/).count, is: 2)
        #expect(try !get("/").text.contains(nonce))
    }

    @Test("The page loads nothing from other servers")
    func selfContained() throws {
        let text = try get("/").text
        #expect(text.matches(of: /https?:\/\/[^'"]+/).map { String($0.output) } == ["http://www.w3.org/2000/svg"])
        #expect(!text.contains("src=") && !text.contains("@import") && !text.contains("url("))
    }

    @Test("The page's uptime relies on the answer's Date header, not the browser's clock")
    func uptime() throws {
        #expect(try !get("/").text.contains("Date.now()"))
        #expect(try TestServer().ask("GET /metrics").contains("\r\nDate: "))
    }

    @Test("An unknown lag of a partition is not shown as 0")
    func unknownLag() throws {
        let text = try get("/").text
        #expect(text.contains("lag ? number(lag.value) : '?'"))
        #expect(text.contains("${least}${number(lag)} ${lag === 1"))
    }

    @Test("Every metric that the page draws is served")
    func names() {
        let registry = MetricRegistry()
        let metrics = ServiceMetrics(
            registry: registry, stages: ["decrypt"], outcomes: ["modified"], deadLetterReasons: ["not-json"])
        registry.addProcess(log: Log(), version: "1")
        registry.addWork()
        _ = (metrics.consumed(topic: "in"), metrics.messages.stages[0].results("ok"))
        let served = String(decoding: registry.render(.prometheus), as: UTF8.self)
        let page = Page.html(nonce: "", showsNotifications: true)
        let drawn = Set(page.matches(of: /'((?:pushmill|process)_[a-z_]+)'/).map { $0.output.1 })
        #expect(drawn.count > 15)
        // By its whole name, which may be the beginning of another metric's name.
        for name in drawn {
            #expect(served.contains("\n# TYPE \(name) ") || served.contains("\n\(name){"), "\(name)")
        }
    }
}
