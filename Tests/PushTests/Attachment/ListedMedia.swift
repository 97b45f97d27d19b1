import Synchronization

@testable import PushmillStages

/// Media that is available at once, by URL; every other URL fails.
final class ListedMedia: MediaSource {
    static let hash = String(repeating: "0123456789abcdef", count: 4)
    static let picture = Media(hash: hash, type: .jpeg, size: 1234)

    private let results: [String: Result<Media?, MediaFailure>]
    /// The limit of each caller's context.
    let limits = Mutex<[Instant]>([])

    init(_ results: [String: Result<Media?, MediaFailure>] = ["https://cdn/a": .success(picture)]) {
        self.results = results
    }

    func known(at url: String, for context: StageContext) -> Media? { nil }

    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        limits.withLock { $0.append(context.limit) }
        return try (results[url] ?? .failure(.status)).get()
    }
}
