import Glibc
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("TLS", .enabled(if: Certificate.mayMake))
struct SecureTests {
    private let certificate: Certificate

    init() throws { certificate = try Certificate() }

    private func shelf(_ server: MediaServer) throws -> Shelf {
        try Shelf {
            $0.allowsHTTP = false
            $0.allow(["localhost", "127.0.0.1"], at: server)
        } reach: { [certificate] in
            $0.authorities = certificate.path
        }
    }

    @Test("A server's certificate is verified, its name too")
    func verified() async throws {
        let server = try MediaServer(certificate: certificate.path)
        let url = server.url("/fast/secure.jpg", host: "localhost", scheme: "https")
        let stranger = try Shelf { $0.allow(["localhost"], at: server) }
        await #expect(throws: MediaFailure.certificate) { try await stranger.media(url) }
        let friend = try shelf(server)
        try await expect(friend.media(url).size, is: 2000)
        // The same server, under a name that its certificate does not have.
        await #expect(throws: MediaFailure.certificate) {
            try await friend.media(server.url("/fast/secure.jpg", scheme: "https"))
        }
    }

    @Test("No redirect from https to http is followed")
    func redirected() async throws {
        let server = try MediaServer(certificate: certificate.path)
        let plain = try #require(MediaServer.shared)
        let path = "/fast/\(UInt64.random(in: 0 ... .max)).jpg"
        let shelf = try shelf(server)
        await #expect(throws: MediaFailure.redirects) {
            try await shelf.media(server.url("/to/a?\(plain.url(path))", host: "localhost", scheme: "https"))
        }
        expect(plain.requests(for: path), is: [])
    }

    @Test("Over HTTP/2, many transfers share a connection", .enabled(if: MediaServer.speaksHTTP2))
    func shared() async throws {
        let server = try MediaServer(certificate: certificate.path, together: 90)
        let shelf = try shelf(server)
        func fetch(_ number: Int) async throws -> String {
            try await shelf.media(server.url("/\(number)", host: "localhost", scheme: "https")).name
        }
        var names: Set<String> = [try await fetch(0)]
        let tasks = (1...90).map { number in Task { try await fetch(number) } }
        for task in tasks { names.insert(try await task.value) }
        expect(names.count, is: 91)
        expect(server.requests(for: "connection").count, is: 1)
        expect(server.requests.count, is: 92)
    }
}

/// A certificate for `localhost`, made for a test, with its key in the same file.
private final class Certificate: Sendable {
    private let folder: TemporaryFolder
    let path: String

    static let mayMake = access("/usr/bin/openssl", X_OK) == 0

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/certificate.pem"
        let key = "\(folder.path)/key.pem"
        let make =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
            + "-addext subjectAltName=DNS:localhost -keyout '\(key)' -out '\(path)' 2>/dev/null "
            + "&& cat '\(key)' >> '\(path)'"
        guard system(make) == 0 else { throw SystemFailure(EINVAL) }
    }
}
