import PushmillStages
import Synchronization

/// Media that somebody waits for.
final class Fetch: Sendable {
    let url: String
    private let latest: Atomic<UInt64>

    init(_ url: String, until limit: Instant) {
        self.url = url
        latest = Atomic(limit.nanoseconds)
    }

    /// When the last of those who wait has given up.
    var limit: Instant { Instant(nanoseconds: latest.load(ordering: .relaxed)) }

    func extend(until limit: Instant) { latest.max(limit.nanoseconds, ordering: .relaxed) }
}

typealias FetchResult = Result<Media, MediaFailure>
