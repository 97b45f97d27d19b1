import Glibc
import Testing

@testable import PushmillTelemetry

/// A TCP connection to a local server that sends any bytes a test gives it.
final class Client: Sendable {
    let descriptor: Int32
    private let server: AdminServer

    /// Retains the server, which stays up as long as the connection lives.
    init(_ server: AdminServer) throws {
        self.server = server
        let address = server.address
        descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A test that waits in vain fails instead of hanging.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var result: Int32
        if address.isIPv6 {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = address.port.bigEndian
            inet_pton(AF_INET6, address.host, &name.sin6_addr)
            result = Self.connect(descriptor, &name)
        } else {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = address.port.bigEndian
            inet_pton(AF_INET, address.host, &name.sin_addr)
            result = Self.connect(descriptor, &name)
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    private static func connect<Name>(_ descriptor: Int32, _ name: UnsafePointer<Name>) -> Int32 {
        name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Name>.size))
        }
    }

    /// False if the server has closed the connection.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(text.utf8) }

    /// Everything received until the server closes the connection.
    func readToEnd() -> String { read { _ in false } }

    /// Everything received until it contains this text or the server closes the connection.
    func read(through text: String) -> String { read { $0.contains(text) } }

    private func read(until isEnough: (String) -> Bool) -> String {
        var bytes: [UInt8] = []
        while true {
            let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                let received = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if received < 0 && errno == EAGAIN { Issue.record("the server said nothing for 30 s") }
                count = max(0, received)
            }
            bytes += piece
            let text = String(decoding: bytes, as: UTF8.self)
            if piece.isEmpty || isEnough(text) { return text }
        }
    }
}
