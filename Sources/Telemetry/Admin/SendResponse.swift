import CPushmillMicrohttpd

extension AdminLoop {
    /// What every response carries, unless it says otherwise itself.
    private static let securityHeaders = [
        (name: "X-Content-Type-Options", value: "nosniff"),
        (name: "X-Frame-Options", value: "DENY"),
        (name: "Referrer-Policy", value: "no-referrer"),
        (name: "Cache-Control", value: "no-store"),
        (name: "Content-Security-Policy", value: "default-src 'none'; frame-ancestors 'none'"),
    ]

    func send(_ response: AdminResponse, to connection: OpaquePointer) -> MHD_Result {
        let body: OpaquePointer?
        if case .bytes = response.body { answering(connection, isStream: false) }
        switch response.body {
        case .bytes(let bytes): body = Self.makeResponse(bytes)
        case .stream(let stream):
            guard openStream() else {
                return send(.text(status: 503, "Too many streams are open.\n"), to: connection)
            }
            answering(connection, isStream: true)
            body = StreamBody(stream, connection: connection, loop: self).makeResponse()
        }
        guard let body else { return .NO }
        defer { MHD_destroy_response(body) }
        for (name, value) in response.headers { MHD_add_response_header(body, name, value) }
        for (name, value) in Self.securityHeaders where !response.headers.contains(where: { $0.name == name }) {
            MHD_add_response_header(body, name, value)
        }
        return MHD_queue_response(connection, UInt32(response.status), body)
    }

    /// The bytes are sent from where they are and released with the response.
    private static func makeResponse(_ bytes: SharedBytes) -> OpaquePointer? {
        let context = Unmanaged.passRetained(bytes)
        let response = MHD_create_response_from_buffer_with_free_callback_cls(
            bytes.memory.count, bytes.memory.baseAddress, releaseBytes, context.toOpaque())
        if response == nil { context.release() }
        return response
    }
}

/// Called once, when the response is destroyed.
private func releaseBytes(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<SharedBytes>.fromOpaque(context).release()
}
