import FoundationEssentials
import Glibc
import Synchronization

/// An exact path, the method it answers, and its handler.
package struct AdminRoute: Sendable {
    package enum Access: Sendable {
        /// For probes and metrics, whose clients know no token.
        case open
        case token
    }

    let method: String
    let path: String
    let access: Access
    /// Runs on the admin thread and must not block.
    let handler: @Sendable (AdminRequest) -> AdminResponse

    package init(
        _ method: String, _ path: String, access: Access = .token,
        handler: @escaping @Sendable (AdminRequest) -> AdminResponse
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.handler = handler
    }
}

package struct Router: Sendable {
    private let routes: [AdminRoute]
    /// Returns the token in force, which may change; nil if there is none.
    private let token: @Sendable () -> AccessToken?

    /// Without a token everyone on this machine is admitted, but no page that a browser loaded from elsewhere.
    package init(_ routes: [AdminRoute], token: @autoclosure @escaping @Sendable () -> AccessToken? = nil) {
        self.routes = routes
        self.token = token
    }

    /// A `HEAD` is answered like a `GET`; the server omits the body. Of a stream it would send the end.
    package func respond(to request: AdminRequest) -> AdminResponse {
        let method = request.method == "HEAD" ? "GET" : request.method
        let here = routes.filter { $0.path == request.path }
        let isOpen = here.contains { $0.access == .open }
        let token = token()
        // Checked before anything else: a stranger must not learn which paths exist.
        if !isOpen, let token, !token.admits(request.authorization) { return .unauthorized }
        if token == nil, !request.isForLoopback {
            return .text(
                status: 403, "This host name is not loopback: use localhost or 127.0.0.1, or set a token.\n")
        }
        guard !here.isEmpty else { return .text(status: 404, "There is nothing at this path.\n") }
        guard let route = here.first(where: { $0.method == method }) else {
            return .methodNotAllowed(here.map(\.method))
        }
        guard method == "GET" || request.isOfSameOrigin else {
            return .text(status: 403, "Pages of another origin must not change anything here.\n")
        }
        var response = route.handler(request)
        if request.method == "HEAD", case .stream = response.body { response.body = .bytes([]) }
        if route.access == .token, case .stream(let stream) = response.body {
            stream.isAdmitted = { [token = self.token, authorization = request.authorization] in
                token()?.admits(authorization) ?? true
            }
        }
        return response
    }
}

extension AdminResponse {
    /// Browsers ask for a password; programs send the token.
    fileprivate static var unauthorized: Self {
        .text(
            status: 401, "A valid token is required, as a bearer token or as the password.\n",
            headers: [
                ("WWW-Authenticate", "Bearer realm=\"pushmill\""), ("WWW-Authenticate", "Basic realm=\"pushmill\""),
            ])
    }

    fileprivate static func methodNotAllowed(_ methods: [String]) -> Self {
        let allowed = methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }.joined(separator: ", ")
        return .text(status: 405, "Allowed methods: \(allowed)\n", headers: [("Allow", allowed)])
    }
}

extension AdminRoute {
    package static func metrics(_ registry: MetricRegistry, clock: WallClock = .system) -> AdminRoute {
        let page = MetricsPage(registry, clock: clock)
        let formats = Exposition.Format.allCases
        let types = formats.map(\.contentType)
        return AdminRoute("GET", "/metrics", access: .open) { request in
            guard let offer = Accept(request.accept).preferred(of: types) else {
                return .text(status: 406, "Available types: \(types.joined(separator: ", "))\n")
            }
            return AdminResponse(contentType: types[offer], body: .bytes(page.bytes(formats[offer])))
        }
    }

    package static func probe(_ path: String, _ probe: @escaping Probe) -> AdminRoute {
        AdminRoute("GET", path, access: .open) { _ in .probe(probe()) }
    }

    /// The effective configuration as text, without secrets.
    package static func configuration(_ text: @escaping @Sendable () -> String) -> AdminRoute {
        AdminRoute("GET", "/config") { _ in .text(text()) }
    }

    /// `?level=warning&contains=text&limit=200&follow=1`.
    package static func logs(_ log: Log) -> AdminRoute {
        AdminRoute("GET", "/logs") { request in
            // An empty form field counts as absent.
            func asked(_ name: String) -> String? { request.query(name).flatMap { $0.isEmpty ? nil : $0 } }
            guard let level = LogLevel(name: asked("level") ?? LogLevel.trace.name) else {
                return .text(status: 400, "level must be one of \(LogLevel.choices)\n")
            }
            guard let limit = Int(asked("limit") ?? "200"), limit >= 0 else {
                return .text(status: 400, "limit must be a number of lines\n")
            }
            let filter = LogFilter(level: level, contains: request.query("contains") ?? "")
            let follows = request.query("follow") == "1"
            let stream = LogStream(log.ring, filter, recent: limit, follows: follows)
            return AdminResponse(contentType: "application/x-ndjson", body: .stream(stream))
        }
    }

    /// `GET` and `PUT`; the body is the level's name.
    package static func logLevel(_ log: Log) -> [AdminRoute] {
        @Sendable func current() -> AdminResponse { .json(Array(#"{"level":"\#(log.level.name)"}"#.utf8) + [10]) }
        return [
            AdminRoute("GET", "/log-level") { _ in current() },
            AdminRoute("PUT", "/log-level") { request in
                let words = String(decoding: request.body, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                guard words.count == 1, let level = LogLevel(name: words[0]) else {
                    return .text(status: 400, "The body must be one of \(LogLevel.choices)\n")
                }
                log.level = level
                log.log(level, "Log level changed", [.setting(level.name)])
                return current()
            },
        ]
    }
}

extension LogLevel {
    fileprivate static var choices: String { allCases.map(\.name).joined(separator: ", ") }
}

/// The rendered metrics. Scrapes within `lifetime` nanoseconds of each other share one rendering.
final class MetricsPage: Sendable {
    private static let lifetime: Int64 = 100_000_000

    private let registry: MetricRegistry
    private let clock: WallClock
    private let renderings = Mutex<[Exposition.Format: (time: Int64, bytes: [UInt8])]>([:])

    init(_ registry: MetricRegistry, clock: WallClock = .system) {
        self.registry = registry
        self.clock = clock
    }

    func bytes(_ format: Exposition.Format) -> [UInt8] {
        let now = clock.now()
        if let known = renderings.withLock({ $0[format] }), (0..<Self.lifetime).contains(now &- known.time) {
            return known.bytes
        }
        let bytes = registry.render(format)
        renderings.withLock { $0[format] = (now, bytes) }
        return bytes
    }
}

/// The secret that opens the pages: as a bearer token, or as the password that a browser asks for.
package struct AccessToken: Sendable {
    private let secret: [UInt8]

    package init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        secret = Array(text.utf8)
    }

    /// `Bearer <token>`, or `Basic` with any user name.
    func admits(_ authorization: String?) -> Bool {
        guard let parts = authorization?.split(separator: " "), parts.count == 2 else { return false }
        switch parts[0].lowercased() {
        case "bearer": return isSecret(parts[1].utf8)
        case "basic":
            let padding = String(repeating: "=", count: -parts[1].utf8.count & 3)
            guard let pair = Data(base64Encoded: parts[1] + padding), let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            else { return false }
            return isSecret(pair[(colon + 1)...])
        default: return false
        }
    }

    /// Takes the same time wherever the first difference is; only the length of `sent` shows.
    private func isSecret(_ sent: some Collection<UInt8>) -> Bool {
        var difference = sent.count ^ secret.count
        for (index, byte) in sent.enumerated() { difference |= Int(byte ^ secret[index % secret.count]) }
        return difference == 0
    }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    package var description: String { "hidden" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
