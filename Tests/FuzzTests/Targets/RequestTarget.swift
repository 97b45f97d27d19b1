import FoundationEssentials

@testable import PushmillTelemetry

/// Every request gets one of the known statuses, and no protected page is served without the token.
///
/// The input is lines: method, path, query, `Accept`, `Authorization`; the rest is the body. Parsing the bytes of a
/// request is libmicrohttpd's work.
final class RequestTarget: FuzzTarget {
    static let names = ["requests"]
    private static let secret = "s3cret"
    private static let open = ["/metrics", "/healthz"]

    private let router: Router

    init(_ name: String) {
        let registry = MetricRegistry()
        registry.counters("test_total", "Test.").series().add(3)
        let log = Log(level: .debug)
        log.log(.info, "Log level changed", [.setting("é")])
        let routes: [AdminRoute] =
            [
                .metrics(registry), .probe("/healthz", { [] }), .configuration { "log:\n  level: info\n" }, .logs(log),
            ] + AdminRoute.logLevel(log)
        router = Router(routes, token: AccessToken(Self.secret))
    }

    func run(_ bytes: [UInt8]) throws {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 5, omittingEmptySubsequences: false)[...]
        func next() -> String { String(decoding: lines.popFirst() ?? [], as: UTF8.self) }
        var request = AdminRequest(method: next(), path: next())
        request.query = next().split(separator: "&").map { member in
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
        }
        request.accept = next()
        request.authorization = next()
        request.body = Array(lines.first ?? [])
        let response = router.respond(to: request)
        try promise([200, 400, 401, 404, 405, 406].contains(response.status), "an answer of status \(response.status)")
        if response.status != 401, !Self.open.contains(request.path) {
            try promise(Self.hasToken(request.authorization), "answered without the token")
        }
        if case .stream(let stream) = response.body { try drain(stream) }
    }

    /// True if the header ends in the token, in plain text or in base64 after a user name.
    private static func hasToken(_ authorization: String?) -> Bool {
        guard let word = authorization?.split(separator: " ", maxSplits: 1).last else { return false }
        if word == secret { return true }
        var digits = word.filter { $0 != "=" }
        if digits.count % 4 == 1 { digits.removeLast() }
        digits += String(repeating: "=", count: (4 - digits.count % 4) % 4)
        let pair = ":\(secret)".utf8
        return Data(base64Encoded: digits)?.suffix(pair.count).elementsEqual(pair) ?? false
    }

    private func drain(_ stream: LogStream) throws {
        try withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            for _ in 0..<64 {
                guard case .wrote(let count) = stream.read(into: buffer, isQuiet: false) else { return }
                try promise((1...buffer.count).contains(count), "a step of \(count) bytes")
            }
        }
    }
}
