extension AdminRoute {
    package static func metrics(_ registry: MetricRegistry, clock: WallClock = .system) -> AdminRoute {
        let page = MetricsPage(registry, clock: clock)
        let formats = Exposition.Format.allCases
        return AdminRoute("GET", "/metrics", access: .open, offers: formats.map(\.contentType)) { _, offer in
            let format = formats[offer]
            return AdminResponse(contentType: format.contentType, body: .bytes(page.bytes(format)))
        }
    }

    /// `/healthz` or `/readyz`.
    package static func probe(_ path: String, _ probe: @escaping Probe) -> AdminRoute {
        AdminRoute("GET", path, access: .open, offers: []) { _, _ in .probe(probe()) }
    }

    /// The effective configuration as text, without secrets.
    package static func configuration(_ text: @escaping @Sendable () -> String) -> AdminRoute {
        AdminRoute("GET", "/config", offers: ["text/plain; charset=utf-8"]) { _, _ in .text(text()) }
    }

    /// `?level=warning&contains=text&limit=200&follow=1`.
    package static func logs(_ log: Log) -> AdminRoute {
        let types = ["application/x-ndjson", "application/json", "text/plain; charset=utf-8"]
        return AdminRoute("GET", "/logs", offers: types) { request, offer in
            guard let level = LogLevel(name: request.query("level") ?? LogLevel.trace.name) else {
                return .text(status: 400, "level is one of \(LogLevel.choices)\n")
            }
            guard let limit = Int(request.query("limit") ?? "200"), limit >= 0 else {
                return .text(status: 400, "limit is a number of lines\n")
            }
            let filter = LogFilter(level: level, contains: request.query("contains") ?? "")
            let follows = request.query("follow") == "1"
            let stream = LogStream(log.ring, filter, recent: limit, follows: follows)
            return AdminResponse(contentType: types[offer], body: .stream(stream))
        }
    }

    /// `GET` and `PUT`; the body is the level's name.
    package static func logLevel(_ log: Log) -> [AdminRoute] {
        @Sendable func current() -> AdminResponse { .json(Array(#"{"level":"\#(log.level.name)"}"#.utf8) + [10]) }
        return [
            AdminRoute("GET", "/log-level", offers: ["application/json"]) { _, _ in current() },
            AdminRoute("PUT", "/log-level", offers: ["application/json"]) { request, _ in
                let words = String(decoding: request.body, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                guard words.count == 1, let level = LogLevel(name: words[0]) else {
                    return .text(status: 400, "The body is one of \(LogLevel.choices)\n")
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
