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
            "/hops/1/a.jpg", "/hops/5/b.jpg", "/trailers/a.jpg?9", "/lines/a.jpg?255-many", "/lines/b.jpg?255-folded",
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
        "A failed fetch reports its reason, and leaves no file and no log line",
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

    @Test("Media size limits are those of a device", arguments: [("image", 10), ("audio", 5), ("video", 50)])
    func limits(_ kind: String, _ megabytes: Int) {
        for type in MediaType.allCases where type.rawValue.hasPrefix(kind) {
            expect(type.sizeLimit, is: megabytes * 1_000_000)
        }
    }

    @Test(
        "Headers of too many lines, or too many bytes, are read once",
        arguments: ["/lines/", "/wordless/", "/trailers/"])
    func lines(_ kind: String) async throws {
        let name = "\(UInt64.random(in: 0 ... .max))"
        for query in kind == "/lines/" ? ["257-many", "99999-many", "99999-folded"] : ["99"] {
            let path = "\(kind)\(name)?\(query)"
            await #expect(throws: MediaFailure.broken) { try await shelf.media(server.url(path)) }
            expect(server.requests(for: path).count, is: 1)
        }
        expect(shelf.names, is: [])
    }

    @Test("A redirect without a target is requested once")
    func nowhere() async throws {
        let path = "/to/\(UInt64.random(in: 0 ... .max))"
        await #expect(throws: MediaFailure.redirects) { try await shelf.media(server.url(path)) }
        expect(server.requests(for: path).count, is: 1)
    }

    @Test("A request reveals nothing about users and asks for unencoded bytes")
    func headers() async throws {
        _ = try await shelf.media(server.url("/fast/headers.jpg"))
        expect(
            server.requests(for: "/fast/headers.jpg"),
            is: ["/fast/headers.jpg user-agent=pushmill host=127.0.0.1:\(server.port)"])
    }

    @Test("A cookie that a server sets is never sent back")
    func cookies() async throws {
        let path = "/cookie/\(UInt64.random(in: 0 ... .max)).jpg"
        let again = "/fast/\(UInt64.random(in: 0 ... .max)).jpg"
        for path in [path, again] { _ = try await shelf.media(server.url(path)) }
        for path in [path, "/fast\(path)", again] {
            expect(server.requests(for: path), is: ["\(path) user-agent=pushmill host=127.0.0.1:\(server.port)"])
        }
    }

    @Test("A fetch that nobody waits for ends, and its partial file is removed")
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

    @Test("A download that will start over keeps no file while it waits")
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

    @Test("A retry that would come after the limit is not made")
    func limit() async throws {
        let path = "/refused/\(UInt64.random(in: 0 ... .max))"
        await #expect(throws: MediaFailure.unreachable) {
            try await shelf.media(server.url(path), for: .milliseconds(1))
        }
        expect(server.requests(for: path).count, is: 1)
    }

    @Test("A library that keeps no files still fetches and checks media")
    func notKept() async throws {
        let shelf = try Shelf({ $0.folder = "/nonexistent/media" }, keeps: false)
        let path = "/fast/not-kept.jpg"
        let media = try await shelf.media(server.url(path))
        expect(media.size, is: 2000)
        try await expect(self.shelf.media(server.url(path)), is: media)
        await #expect(throws: MediaFailure.unsupportedType) { try await shelf.media(server.url("/page/a")) }
    }
}
