import Glibc
import PushmillKafka
import PushmillTelemetry
import PushmillTestSupport

/// A broker that requires a SASL/PLAIN login, which the mock cluster does not support: stands in front of a mock,
/// answers the login's requests, and passes everything else on.
final class LoginProxy: Sendable {
    let address: String
    private let listener: Int32
    private let mock: MockCluster
    private let answers: Watched<[Int64]>
    private let thread: Thread

    /// In front of a cluster of one broker. Listens at the broker's port on another address, which makes the address
    /// that the broker advertises easy to replace.
    init(_ mock: MockCluster, password: String) throws {
        let port = mock.bootstrapServers.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let listener = try Self.open(Self.own, port, Glibc.bind)
        guard listen(listener, 16) == 0 else { throw SystemFailure(errno) }
        address = "\(Self.text(Self.own)):\(port)"
        let answers = Watched<[Int64]>([])
        (self.listener, self.mock, self.answers) = (listener, mock, answers)
        thread = try Thread(named: "test") {
            var connections: [Thread] = []
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                let connection = try? Thread(named: "test") {
                    defer { close(client) }
                    guard let broker = try? Self.open(Self.brokers, port, Glibc.connect) else { return }
                    defer { close(broker) }
                    let isIn = Self.logIn(client, broker, password: Array(password.utf8)) {
                        answers.change { $0.append(WallClock.system.now()) }
                    }
                    if isIn { Self.passOn(client, broker) }
                }
                connections += [connection].compactMap(\.self)
            }
            for connection in connections { connection.join() }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        close(listener)
    }

    /// When each login was answered, in nanoseconds since 1970.
    var logins: [Int64] { answers.value }

    func wait(forLogins wanted: Int) async throws {
        try await answers.wait(for: "\(wanted) logins") { $0.count >= wanted }
    }

    private static let brokers: [UInt8] = [127, 0, 0, 1]
    private static let own: [UInt8] = [127, 0, 0, 2]

    private static func text(_ host: [UInt8]) -> String { host.map { "\($0)" }.joined(separator: ".") }

    private static func open(
        _ host: [UInt8], _ port: UInt16, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = host.reversed().reduce(0) { $0 << 8 | in_addr_t($1) }
        let code = withUnsafeBytes(of: &place) { bytes in
            bytes.baseAddress.map { use(socket, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) }
        }
        guard code == 0 else { throw SystemFailure(errno) }
        return socket
    }

    /// Answers one request after the other: ApiVersions, SaslHandshake 1, and SaslAuthenticate 0, which fails with
    /// SASL_AUTHENTICATION_FAILED if the password is wrong.
    private static func logIn(_ client: Int32, _ broker: Int32, password: [UInt8], tried: () -> Void) -> Bool {
        while let request = read(client) {
            switch request[1] {
            case 18:
                guard send(request, to: broker), var answer = read(broker) else { return false }
                // The answer begins with the correlation ID, the error, and the number of kinds of request.
                if answer[5] == 0 {
                    answer[9] += 2
                    answer.insert(contentsOf: [0, 17, 0, 0, 0, 1, 0, 36, 0, 0, 0, 0], at: 10)
                }
                guard send(answer, to: client) else { return false }
            case 17:
                let body = [0, 0, 0, 0, 0, 1, 0, 5] + Array("PLAIN".utf8)
                guard send(request[4..<8] + body, to: client) else { return false }
            case 36:
                let isRight = request.split(separator: 0).last?.elementsEqual(password) ?? false
                let body = isRight ? [0, 0, 255, 255] : [0, 58, 0, 2] + Array("no".utf8)
                let isSent = send(request[4..<8] + body + [0, 0, 0, 0], to: client)
                tried()
                guard isRight, isSent else { return false }
                return true
            default: return false
            }
        }
        return false
    }

    private static func passOn(_ client: Int32, _ broker: Int32) {
        let (here, there) = (Array(text(own).utf8), Array(text(brokers).utf8))
        var ends = [client, broker].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&ends, 2, -1) > 0 {
            if ends[0].revents != 0 {
                guard let request = read(client), send(request, to: broker) else { return }
            }
            if ends[1].revents != 0 {
                guard let answer = read(broker), send(answer.replacing(there, with: here), to: client) else { return }
            }
        }
    }

    /// A message without its length.
    private static func read(_ connection: Int32) -> [UInt8]? {
        guard let head = read(connection, 4) else { return nil }
        return read(connection, head.reduce(0) { $0 << 8 | Int($1) })
    }

    private static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(connection, &bytes, count, Int32(MSG_WAITALL))
        return received == count ? bytes : nil
    }

    private static func send(_ message: [UInt8], to connection: Int32) -> Bool {
        let length = withUnsafeBytes(of: UInt32(message.count).bigEndian) { Array($0) }
        let bytes = length + message
        return Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
