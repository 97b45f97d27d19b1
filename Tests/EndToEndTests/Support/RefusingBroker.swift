import Glibc
import Telemetry
import TestSupport

/// A broker that lets nobody in: speaks as much of Kafka's protocol as it takes to refuse a SASL/PLAIN login.
final class RefusingBroker: Sendable {
    let address: String
    private let listener: Int32
    private let count: Watched<Int>
    private let thread: Thread

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutableBytes(of: &place) { [listener] bytes in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return Int32(-1) }
            guard bind(listener, address, size) == 0, listen(listener, 16) == 0 else { return Int32(-1) }
            return getsockname(listener, address, &size)
        }
        guard code == 0 else { throw SystemFailure(errno) }
        address = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
        let count = Watched(0)
        self.count = count
        thread = try Thread(named: "test") { [listener] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                while let request = Self.read(connection) {
                    guard Self.answer(request, on: connection) else { break }
                    if request[1] == 36 { count.change { $0 += 1 } }
                }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        close(listener)
    }

    /// How often it was tried.
    var logins: Int { count.value }

    func wait(forLogins wanted: Int) async throws {
        try await count.wait(for: "\(wanted) logins") { $0 >= wanted }
    }

    /// Without its length.
    private static func read(_ connection: Int32) -> [UInt8]? {
        guard let head = read(connection, 4) else { return nil }
        return read(connection, head.reduce(0) { $0 << 8 | Int($1) })
    }

    private static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count >= 8 || count == 4, recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count else {
            return nil
        }
        return bytes
    }

    /// The correlation is the request's; then come what it may ask (ApiVersions 3), the mechanism (SaslHandshake 1), and
    /// SASL_AUTHENTICATION_FAILED (SaslAuthenticate 0).
    private static func answer(_ request: [UInt8], on connection: Int32) -> Bool {
        let body: [UInt8]
        switch request[1] {
        case 18:
            let ranges: [[UInt8]] = [[0, 3, 0, 0, 0, 2, 0], [0, 17, 0, 0, 0, 1, 0], [0, 36, 0, 0, 0, 0, 0]]
            body = [0, 0, 4] + ranges.joined() + [0, 0, 0, 0, 0]
        case 17: body = [0, 0, 0, 0, 0, 1, 0, 5] + Array("PLAIN".utf8)
        case 36: body = [0, 58, 0, 2] + Array("no".utf8) + [0, 0, 0, 0]
        default: return false
        }
        let answer = [0, 0, 0, UInt8(4 + body.count)] + request[4..<8] + body
        return send(connection, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count
    }
}
