import Glibc

/// A bound and listening TCP socket. The server that takes the descriptor closes it.
struct ListeningSocket {
    let descriptor: Int32
    /// The address with the port that was really bound.
    let address: ListenAddress

    init(_ address: ListenAddress) throws(TelemetryError) {
        let family = address.isIPv6 ? AF_INET6 : AF_INET
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw .cannotListen("\(address)", errno) }
        // A restart does not wait for connections of the last run to fade.
        Self.set(SO_REUSEADDR, 1, on: descriptor)
        // Connections inherit it. Left alone, the kernel lets each client that does not read hold megabytes.
        Self.set(SO_SNDBUF, 64 << 10, on: descriptor)
        guard Self.bind(descriptor, to: address) == 0, listen(descriptor, 128) == 0 else {
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

    private static func bind(_ descriptor: Int32, to address: ListenAddress) -> Int32 {
        address.withSocketAddress { Glibc.bind(descriptor, $0, $1) }
    }

    private static func boundPort(_ descriptor: Int32) -> UInt16 {
        // The port lies at the same place in both kinds of address.
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutablePointer(to: &name) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return UInt16(bigEndian: name.sin6_port)
    }
}
