import PushmillCiphers
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("Fetching")
struct FetchTests {
    private let shelf: Shelf
    private var server: MediaServer { shelf.server }

    init() throws { shelf = try Shelf() }

    @Test(
        "Media is kept whole under its hash",
        arguments: [
            "/fast/a.jpg", "/fast/big.jpg?9999999", "/slow/a.jpg", "/chunks/a.jpg", "/mislabelled/a", "/busy/a.jpg",
            "/hops/1/a.jpg", "/hops/5/b.jpg", "/trailers/a.jpg?9",
        ])
    func kept(_ path: String) async throws {
        let media = try await shelf.media(server.url(path))
        expect(shelf.names, is: [media.name])
        let bytes = try shelf.bytes(of: media)
        expect(bytes.count, is: media.size)
        expect(media.name, is: "\(try hash(bytes)).jpg")
        expect(media.type, is: .jpeg)
    }

    private func hash(_ bytes: [UInt8]) throws -> String {
        let hash = try ContentHash()
        bytes.withUnsafeBytes { hash.add($0) }
        return hash.end()
    }

    @Test(
        "What is not to be had fails for its reason, and leaves nothing behind",
        arguments: [
            ("/nowhere", .status), ("/page/a", .unsupportedType), ("/packed/a", .unsupportedType),
            ("/empty/a", .unsupportedType), ("/short/a", .broken), ("/broken-for-good/a", .broken),
            ("/refused/a", .unreachable), ("/announced/a?10000001", .tooLarge),
            ("/announced/a?99999999999999999", .tooLarge), ("/endless/a?image", .tooLarge),
            ("/endless/a?audio", .tooLarge), ("/endless/a?video", .tooLarge), ("/loop/a", .redirects),
            ("/hops/6/a.jpg", .redirects), ("/to/a?ftp%3A//127.0.0.1/a", .redirects),
            ("/to/b?http%3A//user:word@127.0.0.1/a", .redirects), ("/to/c?http%3A//elsewhere.example/", .forbiddenHost),
            ("/later/a", .status), ("/wordy/a", .redirects), ("/bomb/a", .tooLarge), ("/wordless/a", .broken),
            ("/long-line/a", .broken), ("/trailers/a?999", .broken),
        ] as [(String, MediaFailure)])
    func failures(_ path: String, _ failure: MediaFailure) async throws {
        await #expect(throws: failure) { try await shelf.media(server.url(path)) }
        expect(shelf.names, is: [])
        expect(shelf.lines, is: [])
    }

    @Test("The limits are those of a device", arguments: [("image", 10), ("audio", 5), ("video", 50)])
    func limits(_ kind: String, _ megabytes: Int) {
        for type in MediaType.allCases where type.rawValue.hasPrefix(kind) {
            expect(type.sizeLimit, is: megabytes * 1_000_000)
        }
    }

    @Test("A redirect that leads nowhere is asked for once")
    func nowhere() async throws {
        let path = "/to/\(UInt64.random(in: 0 ... .max))"
        await #expect(throws: MediaFailure.redirects) { try await shelf.media(server.url(path)) }
        expect(server.requests(for: path).count, is: 1)
    }

    @Test("A request tells nothing of anybody and asks for the bytes as they are")
    func headers() async throws {
        _ = try await shelf.media(server.url("/fast/headers.jpg"))
        expect(
            server.requests(for: "/fast/headers.jpg"),
            is: ["/fast/headers.jpg user-agent=pushmill host=127.0.0.1:\(server.port)"])
    }

    @Test("No cookie that a server leaves comes back to it")
    func cookies() async throws {
        let path = "/cookie/\(UInt64.random(in: 0 ... .max)).jpg"
        let again = "/fast/\(UInt64.random(in: 0 ... .max)).jpg"
        for path in [path, again] { _ = try await shelf.media(server.url(path)) }
        for path in [path, "/fast\(path)", again] {
            expect(server.requests(for: path), is: ["\(path) user-agent=pushmill host=127.0.0.1:\(server.port)"])
        }
    }

    @Test("A fetch that nobody waits for any more ends, and what came of it goes")
    func abandoned() async throws {
        let url = server.url("/hang-within/\(UInt64.random(in: 0 ... .max))")
        let waiting = Task { [shelf] in try await shelf.media(url) }
        try await shelf.folder.wait { $0 != [] }
        #expect(shelf.names.allSatisfy { $0.hasPrefix(".partial-") })
        waiting.cancel()
        let result = await waiting.result
        #expect(throws: MediaFailure.abandoned) { try result.get() }
        try await shelf.folder.wait { $0 == [] }
    }

    @Test("What is to come anew keeps no file until then")
    func waiting() async throws {
        let path = "/broken-for-now/\(UInt64.random(in: 0 ... .max))"
        let waiting = Task { [shelf] in try await shelf.media(shelf.server.url(path), for: .seconds(7200)) }
        try await shelf.folder.wait { $0 != [] }
        await shelf.release(path)
        try await shelf.folder.wait { $0 == [] }
        waiting.cancel()
        let result = await waiting.result
        #expect(throws: MediaFailure.abandoned) { try result.get() }
    }

    @Test("Nothing is tried again that would come too late")
    func limit() async throws {
        let path = "/refused/\(UInt64.random(in: 0 ... .max))"
        await #expect(throws: MediaFailure.unreachable) {
            try await shelf.media(server.url(path), for: .milliseconds(1))
        }
        expect(server.requests(for: path).count, is: 1)
    }

    @Test("Where nothing is kept, media is looked at all the same")
    func notKept() async throws {
        let shelf = try Shelf({ $0.folder = "/nonexistent/media" }, keeps: false)
        let path = "/fast/not-kept.jpg"
        let media = try await shelf.media(server.url(path))
        expect(media.size, is: 2000)
        try await expect(self.shelf.media(server.url(path)), is: media)
        await #expect(throws: MediaFailure.unsupportedType) { try await shelf.media(server.url("/page/a")) }
    }
}
