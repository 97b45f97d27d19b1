import CPushmillMicrohttpd
import Glibc

/// One request until it is answered.
final class AdminExchange {
    fileprivate var body: [UInt8] = []

    fileprivate func request(_ connection: OpaquePointer, method: String, path: String) -> AdminRequest {
        let headers = values(.HEADER_KIND, of: connection)
        // A header that comes twice counts as one.
        func value(_ name: String) -> String? {
            let values = headers.filter { $0.name.lowercased() == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ",")
        }
        return AdminRequest(
            method: method, path: path, query: values(.GET_ARGUMENT_KIND, of: connection), accept: value("accept"),
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
        slot.pointee = Unmanaged.passRetained(AdminExchange()).toOpaque()
        let lengths = values(.HEADER_KIND, of: connection).filter {
            ["content-length", "transfer-encoding"].contains($0.name.lowercased())
        }
        // A proxy may think that the body ends elsewhere.
        guard lengths.count <= 1 else { return .NO }
        let length = lengths.first { $0.name.lowercased() == "content-length" }
        guard let length, UInt64(length.value) ?? .max > UInt64(loop.limits.bodyBytes) else { return .YES }
        return loop.send(.text(status: 413, "The body is too large.\n"), to: connection)
    }
    let exchange = Unmanaged<AdminExchange>.fromOpaque(known).takeUnretainedValue()
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
    Unmanaged<AdminLoop>.fromOpaque(context).takeUnretainedValue().begin(.asking, of: connection)
    slot.pointee = nil
    Unmanaged<AdminExchange>.fromOpaque(known).release()
}

/// All names and values of a kind, in order. A name without a value has an empty one.
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

extension AdminLoop {
    /// Added to every response that does not set them itself.
    private static let securityHeaders = [
        (name: "X-Content-Type-Options", value: "nosniff"),
        (name: "X-Frame-Options", value: "DENY"),
        (name: "Referrer-Policy", value: "no-referrer"),
        (name: "Cache-Control", value: "no-store"),
        (name: "Content-Security-Policy", value: "default-src 'none'; frame-ancestors 'none'"),
    ]

    func send(_ response: AdminResponse, to connection: OpaquePointer) -> MHD_Result {
        let body: OpaquePointer?
        switch response.body {
        case .bytes(let bytes):
            begin(.answered, of: connection)
            body = bytes.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            }
        case .stream(let stream):
            guard openStream() else {
                return send(.text(status: 503, "Too many streams are open.\n"), to: connection)
            }
            begin(stream.follows ? .streaming : .answered, of: connection)
            // Owns the body: releases it when destroyed, by `MHD_destroy_response` or at the end of the response.
            let stream = StreamBody(stream, connection: connection, loop: self)
            body = MHD_create_response_from_callback(
                UInt64.max, 4_096, readStream, Unmanaged.passRetained(stream).toOpaque(), releaseStream)
        }
        guard let body else { return .NO }
        defer { MHD_destroy_response(body) }
        for (name, value) in response.headers { MHD_add_response_header(body, name, value) }
        for (name, value) in Self.securityHeaders where !response.headers.contains(where: { $0.name == name }) {
            MHD_add_response_header(body, name, value)
        }
        return MHD_queue_response(connection, UInt32(response.status), body)
    }
}

/// The body of one streamed response.
final class StreamBody {
    private static let quietTime: Int64 = 15_000_000_000

    let connection: OpaquePointer
    private let stream: LogStream
    private let loop: AdminLoop
    private var lastWrite = nanoseconds(of: CLOCK_MONOTONIC)

    init(_ stream: LogStream, connection: OpaquePointer, loop: AdminLoop) {
        self.stream = stream
        self.connection = connection
        self.loop = loop
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if loop.isClosing { return -1 }
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        switch stream.read(into: buffer, isQuiet: isQuiet(now)) {
        case .wrote(let count):
            lastWrite = now
            return count
        case .waiting:
            loop.suspend(self)
            return 0
        case .end: return -1
        }
    }

    private func isQuiet(_ now: Int64) -> Bool { now - lastWrite > Self.quietTime }

    /// True if `read` would write something.
    func isDue(_ now: Int64) -> Bool { stream.hasNews || isQuiet(now) }

    fileprivate func close() { loop.closeStream() }
}

/// Called when the connection can take more. May return 0 only if the connection is suspended; -1 ends the body.
private func readStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
    guard let context, let buffer else { return -1 }
    return Unmanaged<StreamBody>.fromOpaque(context).takeUnretainedValue()
        .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

/// Called once, when the response is destroyed.
private func releaseStream(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<StreamBody>.fromOpaque(context).takeRetainedValue().close()
}
