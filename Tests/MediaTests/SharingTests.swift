import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("Sharing fetches")
struct SharingTests {
    private let shelf: Shelf
    private var server: MediaServer { shelf.server }

    init() throws { shelf = try Shelf() }

    @Test("A hundred thousand messages with one URL make one fetch")
    func one() async throws {
        let path = "/slow/\(UInt64.random(in: 0 ... .max)).jpg"
        let url = server.url(path)
        // A task group takes, for each child, time in proportion to the number of its children.
        let tasks = (0..<100_000).map { _ in Task { [shelf] in try await shelf.media(url).name } }
        var names: Set<String> = []
        for task in tasks { names.insert(try await task.value) }
        expect(names.count, is: 1)
        expect(server.requests(for: path).count, is: 1)
        expect(shelf.names, is: Array(names))
    }

    @Test(
        "URLs requested together are fetched together, or as soon as there is room", .thorough,
        arguments: [("together", 250), ("fast", 5_000)])
    func many(_ kind: String, _ count: Int) async throws {
        let run = UInt64.random(in: 0 ... .max)
        // An exchange waits for the server longer than callers that want all at once: nothing is requested again later.
        let shelf = try Shelf(reach: { $0.patience = .seconds(15) })
        let tasks = (0..<count).map { number in
            Task {
                let patience = Duration.seconds(kind == "together" ? 10 : 120)
                return try await shelf.media(
                    shelf.server.url("/\(kind)/\(count)/\(run)/\(number).jpg"), for: patience)
            }
        }
        var media: Set<Media> = []
        for task in tasks { media.insert(try await task.value) }
        expect(media.count, is: count)
        expect(Set(shelf.names), is: Set(media.map(\.name)))
    }

    @Test("A caller that gives up leaves the fetch to the others")
    func leave() async throws {
        let path = "/held/\(UInt64.random(in: 0 ... .max)).jpg"
        let url = server.url(path)
        let staying = Task { [shelf] in try await shelf.media(url) }
        try await shelf.folder.wait { $0 != [] }
        let leaving = (0..<100).map { _ in Task { [shelf] in try await shelf.media(url) } }
        for task in leaving { task.cancel() }
        for task in leaving {
            let result = await task.result
            #expect(throws: MediaFailure.abandoned) { try result.get() }
        }
        await shelf.release(path)
        _ = try await staying.value
        expect(server.requests(for: path).count, is: 1)
    }

    @Test("A task that is canceled before its request leaves no fetch behind")
    func cancelled() async throws {
        let path = "/hang-within/\(UInt64.random(in: 0 ... .max))"
        // This library does not give up a hanging fetch by itself.
        let patient = try Shelf(reach: { $0.patience = .seconds(3600) })
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await patient.media(patient.server.url(path))
        }
        task.cancel()
        let result = await task.result
        #expect(throws: MediaFailure.abandoned) { try result.get() }
        // A request that was made before this one has reached the server by then, if there was any.
        let later = try await patient.media(server.url("/fast/\(UInt64.random(in: 0 ... .max)).jpg"))
        // The server does not answer while a client waits for that path.
        await #expect(throws: MediaFailure.status) { try await shelf.media(server.url("/after\(path)")) }
        expect(patient.names, is: [later.name])
    }

    @Test("Media is remembered until it is old or its file is gone")
    func memory() throws {
        var memory = Memory(limit: 4)
        let media = try #require(Media(name: String(repeating: "a", count: 64) + ".png"))
        let start = Instant(nanoseconds: 1)
        memory.add(media, "u", now: start)
        expect(memory.find("u", now: start)?.isDue, is: false)
        expect(memory.find("u", now: start + .seconds(61))?.isDue, is: true)
        expect(memory.find("u", now: start + .seconds(62))?.isDue, is: false)
        #expect(memory.find("u", now: start + .seconds(599)) != nil)
        #expect(memory.find("u", now: start + .seconds(600)) == nil)
        memory.add(media, "u", now: start)
        memory.forget(["other"])
        #expect(memory.find("u", now: start) != nil)
        memory.forget([media.name])
        #expect(memory.find("u", now: start) == nil)
    }

    @Test("URLs are compared by their bytes, not by Unicode equivalence")
    func equivalent() throws {
        let urls = ["https://cdn.example.com/\u{E9}.jpg", "https://cdn.example.com/e\u{301}.jpg"]
        let media = try #require(Media(name: String(repeating: "a", count: 64) + ".png"))
        let requests = Requests()
        let fetches = urls.compactMap { requests.join($0, as: 0, until: .never, now: .past) { _ in } }
        try #require(fetches.count == 2)
        requests.end(fetches[0], .success(media), now: .past)
        #expect(requests.known(urls[0], now: .past) != nil)
        #expect(requests.known(urls[1], now: .past) == nil)
    }

    @Test(
        "The memory is bounded, and keeps what is asked for again",
        arguments: [Memory(limit: 4), Memory(bytes: 8)])
    func bounded(_ empty: Memory) throws {
        var memory = empty
        let media = try #require(Media(name: String(repeating: "a", count: 64) + ".png"))
        memory.add(media, "kept", now: .past)
        for number in 0..<100 {
            memory.add(media, "\(number)", now: .past)
            #expect(memory.find("kept", now: .past) != nil)
        }
        #expect((0..<100).count { memory.find("\($0)", now: .past) != nil } <= 4)
    }
}
