import CPushmillMicrohttpd

/// One request until it is answered.
final class Exchange {
    fileprivate var body: [UInt8] = []

    /// Builds the request once its body is complete.
    fileprivate func request(_ connection: OpaquePointer, method: String, path: String) -> AdminRequest {
        let headers = values(.HEADER_KIND, of: connection)
        // One that comes twice counts as one.
        func value(_ name: String) -> String? {
            let values = headers.filter { $0.name.lowercased() == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ",")
        }
        return AdminRequest(
            method, path, query: values(.GET_ARGUMENT_KIND, of: connection), accept: value("accept"),
            authorization: headers.first { $0.name.lowercased() == "authorization" }?.value, host: value("host"),
            origin: value("origin"), body: body)
    }
}

/// Called for each request: once when its headers are there, once for each piece of its body, and once at its end. It
/// must take the piece, or queue a response, or return `NO`, which closes the connection.
func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ piece: UnsafePointer<CChar>?,
    _ pieceSize: UnsafeMutablePointer<Int>?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let url, let method, let pieceSize, let slot else { return .NO }
    let loop = Unmanaged<AdminLoop>.fromOpaque(context).takeUnretainedValue()
    guard let known = slot.pointee else {
        slot.pointee = Unmanaged.passRetained(Exchange()).toOpaque()
        let length = values(.HEADER_KIND, of: connection).first { $0.name.lowercased() == "content-length" }
        guard let length, UInt64(length.value) ?? .max > UInt64(loop.limits.bodyBytes) else { return .YES }
        return loop.send(.text(status: 413, "The body is too large.\n"), to: connection)
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    if pieceSize.pointee > 0 {
        guard exchange.body.count + pieceSize.pointee <= loop.limits.bodyBytes else { return .NO }
        exchange.body += UnsafeRawBufferPointer(start: piece, count: pieceSize.pointee)
        pieceSize.pointee = 0
        return .YES
    }
    let request = exchange.request(connection, method: String(cString: method), path: String(cString: url))
    return loop.send(loop.router.respond(to: request), to: connection)
}

/// Called once for each request, however it ended.
func completeRequest(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
    guard let context, let connection, let slot, let known = slot.pointee else { return }
    Unmanaged<AdminLoop>.fromOpaque(context).takeUnretainedValue().ended(connection)
    slot.pointee = nil
    Unmanaged<Exchange>.fromOpaque(known).release()
}

/// All names and values of a kind, in their order. One without a value has an empty one.
private func values(_ kind: MHD_ValueKind, of connection: OpaquePointer) -> [(name: String, value: String)] {
    var values: [(name: String, value: String)] = []
    withUnsafeMutablePointer(to: &values) { pointer in
        _ = MHD_get_connection_values(
            connection, kind,
            { context, _, name, value in
                guard let context, let name else { return .YES }
                context.assumingMemoryBound(to: [(name: String, value: String)].self).pointee.append(
                    (String(cString: name), value.map { String(cString: $0) } ?? ""))
                return .YES
            }, pointer)
    }
    return values
}
