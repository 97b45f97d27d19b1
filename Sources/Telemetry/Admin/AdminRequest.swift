/// A request whose body has arrived.
package struct AdminRequest: Sendable {
    package var method: String
    package var path: String
    /// In the order of the URL, unescaped.
    package var query: [(name: String, value: String)] = []
    /// All `Accept` headers, joined by commas.
    package var accept: String?
    package var authorization: String?
    package var host: String?
    package var origin: String?
    package var body: [UInt8] = []

    /// False if the client asked for a name other than loopback. Such a name may have been pointed at this machine, and
    /// a browser would take a foreign page under that name for one of ours. Old clients send no `Host`.
    var isForLoopback: Bool {
        guard var name = host?.lowercased()[...] else { return true }
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") { name = name[..<colon] }
        if name.hasSuffix(".") { name.removeLast() }
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return (try? ListenAddress("\(name):0"))?.isLoopback ?? false
    }

    /// False if a browser reports that a page of another origin sent the request.
    var isOfSameOrigin: Bool {
        guard let origin else { return true }
        guard let host else { return false }
        return ["http://", "https://"].contains { origin.lowercased() == $0 + host.lowercased() }
    }

    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

package struct AdminResponse {
    package enum Body {
        case bytes([UInt8])
        case stream(LogStream)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body

    package init(status: Int = 200, contentType: String, body: Body, headers: [(name: String, value: String)] = []) {
        self.status = status
        self.headers = [("Content-Type", contentType)] + headers
        self.body = body
    }

    package static func json(status: Int = 200, _ text: [UInt8]) -> Self {
        Self(status: status, contentType: "application/json", body: .bytes(text))
    }

    package static func text(
        status: Int = 200, _ text: String, headers: [(name: String, value: String)] = []
    ) -> Self {
        Self(
            status: status, contentType: "text/plain; charset=utf-8", body: .bytes(Array(text.utf8)), headers: headers)
    }
}
