import PushmillStages
import Synchronization

/// The callers that wait for each URL: they share one fetch, which ends when the last of them has given up.
final class Requests: Sendable {
    /// Is called once, on any thread.
    typealias Answer = @Sendable (FetchResult) -> Void

    private struct Request {
        let fetch: Fetch
        var answers: [Int: Answer]
    }

    private struct State {
        var requests: [URLKey: Request] = [:]
        var memory = Memory()
    }

    private let state = Mutex(State())
    private let numbers = Atomic<Int>(0)

    /// Identifies one caller that is going to wait.
    func newNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

    func known(_ url: String, now: Instant) -> (media: Media, isDue: Bool)? {
        state.withLock { $0.memory.find(url, now: now) }
    }

    /// Returns the fetch that the caller must start, if any. Called by the task that waits.
    func join(_ url: String, as number: Int, until limit: Instant, now: Instant, _ answer: @escaping Answer) -> Fetch? {
        let (result, fetch) = state.withLock { state -> (FetchResult?, Fetch?) in
            // The media may have come since the caller looked for it.
            if let (media, _) = state.memory.find(url, now: now) { return (.success(media), nil) }
            // A task that was canceled by now may already have called `leave`.
            if Task.isCancelled { return (.failure(.abandoned), nil) }
            let key = URLKey(url: url)
            if let fetch = state.requests[key]?.fetch {
                fetch.extend(until: limit)
                state.requests[key]?.answers[number] = answer
                return (nil, nil)
            }
            let fetch = Fetch(url, until: limit)
            state.requests[key] = Request(fetch: fetch, answers: [number: answer])
            return (nil, fetch)
        }
        if let result { answer(result) }
        return fetch
    }

    /// Returns the fetch if no caller waits for it any more.
    func leave(_ url: String, _ number: Int) -> Fetch? {
        let key = URLKey(url: url)
        let (answer, abandoned) = state.withLock { state -> (Answer?, Fetch?) in
            let answer = state.requests[key]?.answers.removeValue(forKey: number)
            guard answer != nil, state.requests[key]?.answers.isEmpty == true else { return (answer, nil) }
            return (answer, state.requests.removeValue(forKey: key)?.fetch)
        }
        answer?(.failure(.abandoned))
        return abandoned
    }

    func end(_ fetch: Fetch, _ result: FetchResult, now: Instant) {
        let key = URLKey(url: fetch.url)
        let request = state.withLock { state -> Request? in
            if case .success(let media) = result { state.memory.add(media, fetch.url, now: now) }
            guard state.requests[key]?.fetch === fetch else { return nil }
            return state.requests.removeValue(forKey: key)
        }
        guard let request else { return }
        for answer in request.answers.values { answer(result) }
    }

    func forget(_ names: Set<String>) { state.withLock { $0.memory.forget(names) } }
}

/// Compares URLs by their bytes: two that Unicode considers equal may lead to different files.
private struct URLKey: Hashable {
    let url: String

    static func == (one: URLKey, other: URLKey) -> Bool { one.url.utf8.elementsEqual(other.url.utf8) }

    func hash(into hasher: inout Hasher) {
        var url = url
        url.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The fetch of media that at least one caller waits for.
final class Fetch: Sendable {
    let url: String
    private let latest: Atomic<UInt64>

    init(_ url: String, until limit: Instant) {
        self.url = url
        latest = Atomic(limit.nanoseconds)
    }

    /// When the last of the callers gives up.
    var limit: Instant { Instant(nanoseconds: latest.load(ordering: .relaxed)) }

    func extend(until limit: Instant) { latest.max(limit.nanoseconds, ordering: .relaxed) }

    /// No caller waits any more, and none will.
    func abandon() { latest.store(Instant.past.nanoseconds, ordering: .relaxed) }

    var isAbandoned: Bool { limit == .past }
}

typealias FetchResult = Result<Media, MediaFailure>

/// What URLs led to a short time ago. Bounded in the number of URLs and in their bytes: the least recently used are
/// forgotten.
struct Memory {
    private struct Entry {
        let media: Media
        let fetched: Instant
        /// When the file was last known to exist.
        var touched: Instant
    }

    /// For this long the server is not asked again.
    private static let age = Duration.seconds(600)
    private static let touchInterval: UInt64 = 60_000_000_000

    private let limit: Int
    private let byteLimit: Int
    private var recent: [URLKey: Entry] = [:]
    /// Bytes of the URLs in `recent`.
    private var recentBytes = 0
    private var older: [URLKey: Entry] = [:]

    init(limit: Int = 16_384, bytes: Int = 32 << 20) {
        self.limit = max(2, limit)
        byteLimit = bytes
    }

    /// `isDue`: the file's last use must be recorded.
    mutating func find(_ url: String, now: Instant) -> (media: Media, isDue: Bool)? {
        let key = URLKey(url: url)
        guard var entry = recent[key] ?? older[key], now < entry.fetched + Self.age else { return nil }
        let isDue = now.nanoseconds(since: entry.touched) > Self.touchInterval
        if isDue { entry.touched = now }
        if isDue || recent[key] == nil { put(entry, key) }
        return (entry.media, isDue)
    }

    mutating func add(_ media: Media, _ url: String, now: Instant) {
        put(Entry(media: media, fetched: now, touched: now), URLKey(url: url))
    }

    private mutating func put(_ entry: Entry, _ key: URLKey) {
        if recent[key] == nil {
            if recent.count >= limit / 2 || recentBytes >= byteLimit / 2 {
                older = exchange(&recent, with: [:])
                recentBytes = 0
            }
            recentBytes += key.url.utf8.count
        }
        recent[key] = entry
    }

    /// For media whose files are gone.
    mutating func forget(_ names: Set<String>) {
        recent = recent.filter { !names.contains($0.value.media.name) }
        older = older.filter { !names.contains($0.value.media.name) }
    }
}
