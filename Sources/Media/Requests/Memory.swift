import PushmillStages

/// What was behind a URL a little while ago. Bounded in URLs and in what they take: what was not asked for the longest is
/// forgotten.
struct Memory {
    private struct Entry {
        let media: Media
        let fetched: Instant
        /// When the file was last known to be there.
        var touched: Instant
    }

    /// So long nobody asks the server again.
    private static let age = Duration.seconds(600)
    private static let touchInterval: UInt64 = 60_000_000_000

    private let limit: Int
    private let byteLimit: Int
    private var recent: [String: Entry] = [:]
    /// Of the URLs that have been put there.
    private var recentBytes = 0
    private var older: [String: Entry] = [:]

    init(limit: Int = 16_384, bytes: Int = 32 << 20) {
        self.limit = max(2, limit)
        byteLimit = bytes
    }

    /// `isDue`: the file's last use is to be noted.
    mutating func find(_ url: String, now: Instant) -> (media: Media, isDue: Bool)? {
        guard var entry = recent[url] ?? older[url], now < entry.fetched + Self.age else { return nil }
        let isDue = now.nanoseconds(since: entry.touched) > Self.touchInterval
        if isDue { entry.touched = now }
        if isDue || recent[url] == nil { put(entry, url) }
        return (entry.media, isDue)
    }

    mutating func add(_ media: Media, _ url: String, now: Instant) {
        put(Entry(media: media, fetched: now, touched: now), url)
    }

    private mutating func put(_ entry: Entry, _ url: String) {
        if recent[url] == nil {
            if recent.count >= limit / 2 || recentBytes >= byteLimit / 2 {
                older = recent
                recent = [:]
                recentBytes = 0
            }
            recentBytes += url.utf8.count
        }
        recent[url] = entry
    }

    /// Their files are gone.
    mutating func forget(_ names: Set<String>) {
        recent = recent.filter { !names.contains($0.value.media.name) }
        older = older.filter { !names.contains($0.value.media.name) }
    }
}
