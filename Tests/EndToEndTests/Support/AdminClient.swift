import Glibc
import TestSupport

/// Asks a service's admin endpoint.
struct AdminClient: Sendable {
    private let port: UInt16
    let token: String

    /// Finds the address in what the service has said.
    init?(of service: ServiceProcess, token: String = "") {
        let line = service.lines.first { $0.contains(#""listen":"127.0.0.1:"#) }
        guard let match = line?.firstMatch(of: /"listen":"127\.0\.0\.1:([0-9]+)"/), let port = UInt16(match.output.1)
        else { return nil }
        self.port = port
        self.token = token
    }

    /// Asks for the metrics again and again until they are as wanted.
    func wait(
        for what: String, within limit: Duration = .seconds(60), until isMet: @escaping @Sendable (String) -> Bool
    ) async throws {
        try await elsewhere {
            let end = ContinuousClock.now + limit
            while try !isMet(ask("/metrics")) {
                guard .now < end else { throw Overdue(what: what, limit: limit) }
            }
        }
    }

    /// The whole answer, status line and headers included. Blocks.
    func ask(_ path: String, accept: String = "*/*") throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        let code = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw SystemFailure(errno) }
        let request = """
            GET \(path) HTTP/1.1\r
            Host: test\r
            Accept: \(accept)\r
            Authorization: Bearer \(token)\r
            Connection: close\r
            \r

            """
        guard send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count else {
            throw SystemFailure(errno)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw SystemFailure(errno) }
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += buffer.prefix(count)
        }
    }
}
