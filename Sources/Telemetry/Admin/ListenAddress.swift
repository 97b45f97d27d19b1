import Glibc

/// Where the admin endpoint listens: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, or `:9464` for every IPv4
/// address. Port 0 is any free one.
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
