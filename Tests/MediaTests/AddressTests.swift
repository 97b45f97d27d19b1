import Glibc
import PushmillStages
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillMedia

@Suite("Addresses")
struct AddressTests {
    private func isPublic(_ text: String) throws -> Bool {
        if text.contains(":") {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            try #require(inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
            return withUnsafeBytes(of: &address, PublicAddress.contains)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        try #require(inet_pton(AF_INET, text, &address.sin_addr) == 1)
        return withUnsafeBytes(of: &address, PublicAddress.contains)
    }

    @Test(
        "Addresses outside the public internet are closed",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
            "127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1",
            "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255",
            "198.51.100.1", "203.0.113.1", "168.63.129.16", "224.0.0.1", "239.255.255.255", "240.0.0.1",
            "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
            "::ffff:169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
            "2001::1", "2001:0:7f00:1::", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1",
            "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "5f00::1", "4000::1",
        ])
    func closed(_ address: String) throws {
        #expect(try !isPublic(address))
    }

    @Test(
        "Addresses of the public internet are open",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
            "198.20.0.0", "223.255.255.255", "2001:200::1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::1.1.1.1",
            "::ffff:1.1.1.1",
        ])
    func open(_ address: String) throws {
        #expect(try isPublic(address))
    }

    @Test("All but whole IPv4 and IPv6 addresses are closed", arguments: [AF_UNIX, AF_PACKET, AF_INET, AF_INET6])
    func others(_ family: Int32) {
        // The IPv4 and IPv6 addresses are cut short.
        let bytes = withUnsafeBytes(of: sa_family_t(family)) { Array($0) } + [0, 0, 1, 1, 1, 1]
        #expect(!bytes.withUnsafeBytes(PublicAddress.contains))
        #expect(!PublicAddress.contains(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    /// Whether it is 127.0.0.`last`.
    private static func isMachine(_ address: UnsafeRawBufferPointer, _ last: UInt32) -> Bool {
        guard address.count == MemoryLayout<sockaddr_in>.size else { return false }
        return address.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr == (0x7F00_0000 | last).bigEndian
    }

    private let server: MediaServer

    init() throws { server = try #require(MediaServer.shared) }

    @Test(
        "A URL cannot reach this machine, however its host is named",
        arguments: [
            "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0", "inside.example",
            "inside6.example",
        ])
    func machine(_ host: String) async throws {
        let path = "/fast/closed.jpg"
        let shelf = try Shelf {
            $0.allow(["*"], at: server)
        } reach: {
            $0 = Reach()
            $0.names = ["inside.example:\(server.port):127.0.0.1", "inside6.example:\(server.port):::1"]
        }
        await #expect(throws: MediaFailure.forbiddenAddress) { try await shelf.media(server.url(path, host: host)) }
        expect(server.requests(for: path), is: [])
    }

    @Test(
        "A closed address of a host does not keep fetches from its other addresses",
        arguments: ["127.0.0.2,127.0.0.3", "127.0.0.3,127.0.0.2", "[::1],127.0.0.3"])
    func several(_ addresses: String) async throws {
        let shelf = try Shelf {
            $0.allow(["*"], at: server)
        } reach: {
            // No server listens there: `unreachable` means that the address was tried.
            $0.admits = { Self.isMachine($0, 3) }
            $0.names = ["several.example:\(server.port):\(addresses)"]
        }
        await #expect(throws: MediaFailure.unreachable) {
            try await shelf.media(server.url("/fast/several.jpg", host: "several.example"), for: .milliseconds(1))
        }
    }

    @Test(
        "A redirect cannot lead to a closed address",
        arguments: ["http://127.0.0.2:PORT/fast/r", "http://[::1]:PORT/fast/r", "//inside.example:PORT/fast/r"])
    func redirects(_ target: String) async throws {
        let shelf = try Shelf {
            $0.allow(["*"], at: server)
        } reach: {
            // Only the server's own address is taken for a public one.
            $0.admits = { Self.isMachine($0, 1) }
            $0.names = ["inside.example:\(server.port):127.0.0.3"]
        }
        let port = target.replacing("PORT", with: "\(server.port)")
        await #expect(throws: MediaFailure.forbiddenAddress) {
            try await shelf.media(server.url("/to/\(UInt64.random(in: 0 ... .max))?\(port)"))
        }
        expect(server.requests(for: "/fast/r"), is: [])
    }
}
