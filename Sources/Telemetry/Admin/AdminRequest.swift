/// A request whose body has arrived.
package struct AdminRequest: Sendable {
    package var method: String
    package var path: String
    /// In their order, unescaped.
    package var query: [(name: String, value: String)]
    /// All `Accept` headers, joined by commas.
    package var accept: String?
    package var authorization: String?
    package var body: [UInt8]

    package init(
        _ method: String, _ path: String, query: [(name: String, value: String)] = [], accept: String? = nil,
        authorization: String? = nil, body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.accept = accept
        self.authorization = authorization
        self.body = body
    }

    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}
