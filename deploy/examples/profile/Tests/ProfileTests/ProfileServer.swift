import Foundation

/// A service on loopback that answers each request with a status and a body, or never.
final class ProfileServer: Sendable {
    enum Event: Sendable, Equatable {
        case asked(String)
        /// The client closed its connection before it got an answer.
        case left
    }

    typealias Answer = @Sendable (_ path: String) -> (status: Int, body: String)?

    let url: String
    private let listener: Int32
    private let events: AsyncStream<Event>

    init(_ answer: @escaping Answer) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isUp = withUnsafeMutablePointer(to: &address) { [listener] address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard isUp else { throw POSIXError(.EADDRNOTAVAIL) }
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/profiles/"
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        Thread.detachNewThread { [listener] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                Thread.detachNewThread { Self.serve(connection, answer, continuation) }
            }
            close(listener)
        }
    }

    /// Ends the thread that accepts.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Waits for the event and discards earlier ones.
    func wait(for event: Event) async {
        for await next in events where next == event { return }
    }

    private static func serve(
        _ connection: Int32, _ answer: Answer, _ events: AsyncStream<Event>.Continuation
    ) {
        defer { close(connection) }
        var request = ""
        while !request.hasSuffix("\r\n\r\n") {
            guard let text = receive(connection) else { return }
            request += text
        }
        let path = request.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
        let answer = answer(path)
        events.yield(.asked(path))
        guard let answer else {
            if receive(connection) == nil { events.yield(.left) }
            return
        }
        let head = ["HTTP/1.1 \(answer.status) -", "Content-Length: \(answer.body.utf8.count)", "Connection: close"]
        let bytes = Array("\(head.joined(separator: "\r\n"))\r\n\r\n\(answer.body)".utf8)
        send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Nil at the connection's end.
    private static func receive(_ connection: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }
}
