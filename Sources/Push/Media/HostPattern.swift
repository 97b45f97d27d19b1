/// Hosts that media may come from: one by its name or address, `*.example.com` for those below a name, `*` for any.
package struct HostPattern: Sendable, Hashable {
    private enum Kind: Hashable {
        case any
        case host(String)
        /// With the dot before it.
        case below(String)
    }

    private let kind: Kind

    /// Nil for what is none of these; a port or a path is no part of it.
    package init?(_ text: String) {
        let name = text.lowercased()
        if name == "*" {
            kind = .any
            return
        }
        let isBelow = name.hasPrefix("*.")
        let host = isBelow ? String(name.dropFirst(2)) : name
        let isAddress = host.hasPrefix("[") && host.hasSuffix("]") && !isBelow
        let isLegal = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): isAddress
            default: false
            }
        }
        guard isLegal, !host.isEmpty, !host.hasPrefix("."), !host.hasSuffix("."), !host.contains("..") else {
            return nil
        }
        kind = isBelow ? .below(".\(host)") : .host(host)
    }

    /// `host` is in lower case.
    package func admits(_ host: String) -> Bool {
        switch kind {
        case .any: true
        case .host(let name): host == name
        case .below(let suffix): host.hasSuffix(suffix) && host.utf8.count > suffix.utf8.count
        }
    }
}

extension HostPattern: CustomStringConvertible {
    package var description: String {
        switch kind {
        case .any: "*"
        case .host(let name): name
        case .below(let suffix): "*\(suffix)"
        }
    }
}
