import Glibc
import Synchronization

/// Limits on the resources that clients may take.
package struct AdminLimits: Sendable {
    package var connections: UInt32 = 256
    /// Streams at the same time, such as followers of the log.
    package var streams = 128
    /// A connection without traffic for this long is closed, also if its client does not read.
    package var idleSeconds: UInt32 = 30
    /// How long a request, head and body, may take to arrive, on a new connection or after an answer.
    package var request = Duration.seconds(5)
    /// How long the client may take to read an answer, unless it follows the log.
    package var answer = Duration.seconds(30)
    /// Bytes of a request line with its headers.
    package var headBytes = 16 << 10
    package var bodyBytes = 1 << 10

    package init() {}
}

/// The HTTP endpoint for operators, on its own thread.
package final class AdminServer: Sendable {
    /// The address with the port that was bound.
    package let address: ListenAddress
    private let stop: Waker
    private let thread = Mutex<Thread?>(nil)

    /// The port is listening when `init` returns.
    package init(
        _ address: ListenAddress, _ router: Router, limits: AdminLimits = AdminLimits()
    ) throws(TelemetryError) {
        let stop = try Waker()
        let socket = try ListeningSocket(address)
        // From here on only the admin thread uses the loop.
        nonisolated(unsafe) let loop = try AdminLoop(socket, router, limits)
        let started = try Thread(named: "admin") { loop.run(until: stop) }
        self.stop = stop
        self.address = socket.address
        thread.withLock { $0 = started }
    }

    deinit { close() }

    /// Ends all streams, closes every connection and the port, and waits for the thread to end.
    package func close() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        stop.wake()
        thread.join()
    }
}

/// A bound and listening TCP socket. The server that takes the descriptor closes it.
struct ListeningSocket {
    let descriptor: Int32
    /// The address with the port that was bound.
    let address: ListenAddress

    init(_ address: ListenAddress) throws(TelemetryError) {
        let family = address.isIPv6 ? AF_INET6 : AF_INET
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw .cannotListen("\(address)", errno) }
        // A restart need not wait until the kernel forgets connections of the last run.
        Self.set(SO_REUSEADDR, 1, on: descriptor)
        // Connections inherit it. By default the kernel buffers megabytes for each client that does not read.
        Self.set(SO_SNDBUF, 64 << 10, on: descriptor)
        guard address.withSocketAddress({ [descriptor] in bind(descriptor, $0, $1) }) == 0, listen(descriptor, 128) == 0
        else {
            let code = errno
            close(descriptor)
            throw code == EADDRINUSE ? .addressInUse("\(address)") : .cannotListen("\(address)", code)
        }
        self.address = ListenAddress(host: address.host, port: Self.boundPort(descriptor))
    }

    private static func set(_ option: Int32, _ value: Int32, on descriptor: Int32) {
        var value = value
        setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func boundPort(_ descriptor: Int32) -> UInt16 {
        // The port is at the same offset in both kinds of address.
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutablePointer(to: &name) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return UInt16(bigEndian: name.sin6_port)
    }
}

/// Where the admin endpoint listens: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, or `:9464` for every IPv4
/// address. Port 0 means any free port.
public struct ListenAddress: Sendable, Equatable {
    /// A numeric address.
    public let host: String
    public let port: UInt16

    var isIPv6: Bool { host.utf8.contains(UInt8(ascii: ":")) }

    public init(_ text: String) throws(TelemetryError) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw .invalidListenAddress(text)
        }
        self.port = port
        switch text[..<colon] {
        case "": host = "0.0.0.0"
        case "localhost": host = "127.0.0.1"
        case let name where name.hasPrefix("[") && name.hasSuffix("]"):
            host = String(name.dropFirst().dropLast())
            guard isIPv6 else { throw .invalidListenAddress(text) }
        case let name:
            host = String(name)
            guard !isIPv6 else { throw .invalidListenAddress(text) }
        }
        var bytes = in6_addr()
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &bytes) == 1 else { throw .invalidListenAddress(text) }
    }

    /// `host` is a numeric address.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// True if only this machine can connect.
    public var isLoopback: Bool { host == "::1" || !isIPv6 && host.hasPrefix("127.") }
}

extension ListenAddress: CustomStringConvertible {
    public var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
