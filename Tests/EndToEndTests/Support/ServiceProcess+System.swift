import Glibc
import PushmillTestSupport
import Testing

extension ServiceProcess {
    /// The service's files may grow to this size in bytes, nil for any.
    func limitFileSize(_ bytes: Int?) async throws {
        try await limit("--fsize=\(bytes.map(String.init) ?? "unlimited"):unlimited")
    }

    /// Descriptors that the service opens get lower numbers; those that are open stay.
    func limitDescriptors(_ count: Int) async throws { try await limit("--nofile=\(count):") }

    private func limit(_ option: String) async throws {
        let change = try ServiceProcess(["--pid", "\(identifier)", option], executable: "/usr/bin/prlimit")
        try await change.expectEnd(.exited(0))
        try await change.clear()
    }

    /// The admin endpoint's whole answer, head included.
    func get(_ path: String) async throws -> String {
        try await wait(forLine: "the admin endpoint is up")
        let line = lines(with: "the admin endpoint is up").first ?? ""
        let port = line.split(separator: "127.0.0.1:").last.flatMap { UInt16($0.prefix(while: \.isNumber)) } ?? 0
        return try await elsewhere { try Self.get(path, port: port) }
    }

    private static func get(_ path: String, port: UInt16) throws -> String {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard connection >= 0 else { throw SystemFailure(errno) }
        defer { close(connection) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let connected = withUnsafeBytes(of: &address) { bytes in
            connect(
                connection, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard connected == 0 else { throw SystemFailure(errno) }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw SystemFailure(errno)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer += buffer.prefix(count)
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
