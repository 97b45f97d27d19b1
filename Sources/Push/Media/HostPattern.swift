/// Hosts that media may come from: one by its name or address, `*.example.com` for those below a name, `*` for any. Behind a
/// colon a port; without one the scheme's own, 443 for https.
package struct HostPattern: Sendable, Hashable {
    private enum Kind: Hashable {
        case any
        case host(String)
        /// With the dot before it.
        case below(String)
    }

    private let kind: Kind
    private let port: UInt16?

    /// Nil for what is none of these; a path is no part of it.
    package init?(_ text: String) {
        let (name, port) = Self.split(text.lowercased())
        self.port = port
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

    /// A port that is none stays with the name, where it is no part of one.
    private static func split(_ text: String) -> (name: String, port: UInt16?) {
        guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else { return (text, nil) }
        let digits = text[text.index(after: colon)...]
        guard let port = UInt16(digits), port > 0, "\(port)" == digits else { return (text, nil) }
        return (String(text[..<colon]), port)
    }

    /// `host` is in lower case; `isUsual`: the port is the scheme's own.
    package func admits(_ host: String, port: Int, isUsual: Bool) -> Bool {
        guard self.port.map({ Int($0) == port }) ?? isUsual else { return false }
        return switch kind {
        case .any: true
        case .host(let name): host == name
        case .below(let suffix): host.hasSuffix(suffix) && host.utf8.count > suffix.utf8.count
        }
    }
}

extension HostPattern: CustomStringConvertible {
    package var description: String {
        let name =
            switch kind {
            case .any: "*"
            case .host(let name): name
            case .below(let suffix): "*\(suffix)"
            }
        return port.map { "\(name):\($0)" } ?? name
    }
}
