import Push

/// A host and port to listen on: `127.0.0.1:9464`, `[::1]:9464`. Port 0 takes any that is free.
package struct ListenAddress: Sendable, Equatable {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Only this machine can reach it.
    package var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension SettingFormat where Value == ListenAddress {
    static var listenAddress: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                guard let address = ListenAddress(text) else {
                    throw SettingMismatch(expected: "a host and port such as 127.0.0.1:9464")
                }
                return address
            }, render: \.description)
    }
}
