import PushmillPayload
import PushmillStages

@testable import PushmillMedia

/// A URL, given or redirected to, is refused, or it reads back the same and names the host that was checked.
final class URLTarget: FuzzTarget {
    static let names = ["urls"]

    private let narrow = URLTarget.settings(["cdn.example.com", "*.img.example", "[2606:4700::1111]"])
    private let wide = URLTarget.settings(["*"], allowsHTTP: true)

    init(_ name: String) {}

    private static func settings(_ hosts: [String], allowsHTTP: Bool = false) -> MediaSettings {
        var settings = MediaSettings(
            MediaMembers(url: JSONPointer(member: "media-url")), folder: "", hosts: hosts.compactMap(HostPattern.init))
        settings.allowsHTTP = allowsHTTP
        return settings
    }

    func run(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        try check(text, narrow)
        try check(text, wide)
    }

    private func check(_ text: String, _ settings: MediaSettings) throws {
        let address: WebAddress
        do throws(MediaFailure) {
            address = try WebAddress(text, settings)
        } catch {
            return try promise([.malformedURL, .forbiddenHost].contains(error), "refused as \(error)")
        }
        let again = try WebAddress(address.text, settings)
        try promise(again.text == address.text && again.host == address.host, "another URL when it is read again")
        try promise(address.text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a URL that ends before its end")
        try promise(address.host.utf8.allSatisfy { $0 < 0x80 }, "a host that libcurl would rewrite")
        let scheme = address.isSecure ? "https://" : "http://"
        let port = Int(address.server.dropFirst(address.host.count + 1)) ?? 0
        let isUsual = port == (address.isSecure ? 443 : 80)
        try promise(
            settings.hosts.contains { $0.admits(address.host, port: port, isUsual: isUsual) },
            "a host or a port that nobody has named")
        try promise(settings.allowsHTTP || address.isSecure, "not encrypted")
        try promise(address.text.utf8.starts(with: scheme.utf8), "another scheme than it says")
        // By bytes: a combining character after a slash would form one `Character` with it.
        let bytes = address.text.utf8.dropFirst(scheme.utf8.count).prefix { !"/?#".utf8.contains($0) }
        let authority = String(decoding: bytes, as: UTF8.self)
        try promise(Self.host(of: authority) == address.host, "\(authority) is not the host that was checked")
    }

    /// Without the port and without the zone of an IPv6 address.
    private static func host(of authority: String) -> String {
        guard authority.hasPrefix("[") else { return authority.prefix { $0 != ":" }.lowercased() }
        return authority.prefix { $0 != "]" && $0 != "%" }.lowercased() + "]"
    }
}
