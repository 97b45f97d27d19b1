import PushmillCiphers
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("Broken connections")
struct ResumeTests {
    private let shelf: Shelf
    private var server: MediaServer { shelf.server }

    init() throws { shelf = try Shelf() }

    @Test(
        "After a break, only the rest is requested, and only of the same version",
        arguments: [
            ("/broken/", ["", " range=bytes=10000- if-range=\"1\"", " range=bytes=20000- if-range=\"1\""]),
            ("/broken-in-pieces/", ["", " range=bytes=10000- if-range=\"1\"", " range=bytes=20000- if-range=\"1\""]),
            (
                "/broken-dated/",
                [
                    "", " range=bytes=10000- if-range=Mon, 02 Nov 2026 10:00:00 GMT",
                    " range=bytes=20000- if-range=Mon, 02 Nov 2026 10:00:00 GMT",
                ]
            ),
        ])
    func resumed(_ kind: String, _ requests: [String]) async throws {
        let path = "\(kind)\(UInt64.random(in: 0 ... .max)).jpg"
        let media = try await shelf.media(server.url(path))
        expect(media.size, is: 30_000)
        expect(
            server.requests(for: path).map { $0.dropFirst(path.count).prefix { $0 != "u" } },
            is: requests.map { "\($0) " })
        try expect(shelf.bytes(of: media), is: whole(path, version: 1))
    }

    @Test(
        "A download that cannot be resumed starts over",
        arguments: [
            ("/broken-unversioned/", 1), ("/broken-without-ranges/", 1), ("/broken-and-changed/", 3),
            ("/broken-and-undated/", 3),
        ])
    func anew(_ kind: String, _ version: Int) async throws {
        let path = "\(kind)\(UInt64.random(in: 0 ... .max)).jpg"
        let media = try await shelf.media(server.url(path))
        expect(server.requests(for: path).count, is: 3)
        try expect(shelf.bytes(of: media), is: whole(path, version: version))
    }

    @Test("A part without the size of the whole does not complete a download")
    func unmeasured() async throws {
        let path = "/broken-unmeasured/\(UInt64.random(in: 0 ... .max)).jpg"
        let media = try await shelf.media(server.url(path))
        // Nothing is left of it, which only a request for the whole tells for certain.
        let parts = ["", " range=bytes=10000- if-range=\"1\"", " range=bytes=30000- if-range=\"1\"", ""]
        expect(
            server.requests(for: path).map { $0.dropFirst(path.count).prefix { $0 != "u" } }, is: parts.map { "\($0) " }
        )
        try expect(shelf.bytes(of: media), is: whole(path, version: 1))
    }

    @Test(
        "A request is repeated if its response breaks off before the body",
        arguments: [
            "HTTP/1.1%20103%20Early%20Hints%0D%0A%0D%0A", "HTTP/1.1%20200%20OK%0D%0AContent-Ty",
            "HTTP/1.1%20302%20Found%0D%0ALoca",
            "HTTP/1.1%20302%20Found%0D%0ALocation:%20/nowhere%0D%0AContent-Length:%209%0D%0A%0D%0Ahalf",
        ])
    func cut(_ words: String) async throws {
        let path = "/cut/\(UInt64.random(in: 0 ... .max)).jpg?\(words)"
        let media = try await shelf.media(server.url(path))
        expect(server.requests(for: path).count, is: 2)
        expect(media.size, is: 2000)
    }

    @Test("A part of another version is not appended to a download")
    func wrong() async throws {
        let path = "/broken-and-wrong/\(UInt64.random(in: 0 ... .max)).jpg"
        await #expect(throws: MediaFailure.broken) { try await shelf.media(server.url(path)) }
        #expect(server.requests(for: path).contains { $0.contains("range=") })
        expect(shelf.names, is: [])
    }

    @Test(
        "A part is the last one if it and the bytes end with the whole",
        arguments: [
            ("bytes 10-29/30", 30, true), ("Bytes 10-29/30", 30, true), ("bytes 10-19/30", 20, false),
            ("bytes 10-29/30", 29, false), ("bytes 10-29/30", 31, false), ("bytes 10-19/20", 30, false),
            ("bytes 10-29/*", 30, false), ("bytes 10-28/30", 30, false),
        ])
    func parts(_ text: String, _ count: Int, _ isWhole: Bool) throws {
        let range = try #require(ContentRange(text))
        expect(range.first, is: 10)
        expect(range.completes(count), is: isWhole)
    }

    @Test(
        "A header that names no valid part is ignored",
        arguments: [
            "", "bytes", "bytes ", "bytes */30", "bytes 10-/30", "bytes -29/30", "bytes 29-10/30", "bytes 10-29",
            "bytes 10-29/30/30", "lines 10-29/30", "bytes 10-99999999999999999999/30", "bytes 10--29/30",
        ])
    func noParts(_ text: String) { #expect(ContentRange(text) == nil) }

    @Test(
        "A stalled download starts over or resumes before twice the patience has passed",
        arguments: [(0, ""), (10_000, " range=bytes=10000- if-range=\"1\"")])
    func stalled(_ count: Int, _ again: String) async throws {
        let path = "/stalls/\(UInt64.random(in: 0 ... .max)).jpg"
        let patience = Duration.seconds(6)
        // The server that all tests share may take that long to answer.
        let server = try MediaServer()
        let shelf = try Shelf({ $0.allow(["127.0.0.1"], at: server) }, reach: { $0.patience = patience })
        // Nothing starts after that limit. A download that is running by then may take its time.
        let media = try await shelf.media(server.url("\(path)?\(count)"), for: patience * 2)
        let requests = server.requests(for: "\(path)?\(count)")
        expect(requests.map { $0.drop { $0 != " " }.prefix { $0 != "u" } }, is: [" ", "\(again) "])
        try expect(shelf.bytes(of: media), is: whole(path, version: 1))
    }

    /// The body as the server makes it.
    private func whole(_ path: String, version: Int) throws -> [UInt8] {
        let hash = try ContentHash()
        Array("\(path) \(version)".utf8).withUnsafeBytes { hash.add($0) }
        let digits = Array(hash.end())
        let seed = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
        let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10] + Array("JFIF".utf8) + [0, 1, 1]
        var bytes = head
        while bytes.count < 30_000 { bytes += seed }
        return Array(bytes.prefix(30_000))
    }

    @Test("Retry waits grow, vary, respect Retry-After and the limit, and end without progress")
    func plan() {
        let limit = Instant(nanoseconds: 60_000_000_000)
        func wait(_ plan: inout RetryPlan, progressed: Bool = false, atLeast: Int = -1, jitter: Double = 1) -> Double? {
            plan.next(now: .past, limit: limit, progressed: progressed, atLeast: atLeast, jitter: jitter)
                .map { Double($0.nanoseconds) / 1e9 }
        }
        var plan = RetryPlan()
        expect(wait(&plan), is: 0.4)
        expect(wait(&plan, jitter: 0), is: 0.4)
        expect(wait(&plan), is: 1.6)
        #expect(wait(&plan) == nil)
        var fruitful = RetryPlan()
        for _ in 0..<10 { expect(wait(&fruitful, progressed: true), is: 0.2) }
        expect(wait(&fruitful, progressed: true, atLeast: 7), is: 7)
        #expect(wait(&fruitful, progressed: true, atLeast: 60) == nil)
        #expect(wait(&fruitful, progressed: true, atLeast: .max) == nil)
    }
}
