import CPushmillCurl
import PushmillStages

/// Fetches one piece of media, in as many exchanges as redirects and broken connections require. Belongs to the
/// transfers' thread.
final class Transfer {
    /// What to do next.
    enum Step {
        case exchange(Exchange)
        /// Call `begin` again at that time.
        case wait(Instant)
        case keep(Download.Finished)
        case failed(MediaFailure)
    }

    private static let redirects = 5
    /// Bytes of a redirect's or an error's body that are read to keep the connection usable.
    private static let idleBytes = 64 << 10

    let fetch: Fetch
    /// The one that is in progress, or waits for its server's address.
    var exchange: Exchange?
    private let means: Means
    private var plan = RetryPlan()
    private var hops = 0
    private var download: Download?
    /// Of what has been downloaded; without one, a broken connection means starting over.
    private var validator: String?
    private var most = 0
    /// Of the current exchange.
    private var isAccepted: Bool?
    private var ignored = 0
    private var problem: MediaFailure?

    init(_ fetch: Fetch, _ means: Means) {
        self.fetch = fetch
        self.means = means
    }

    /// Starts at the original URL, also after a redirect: a redirect's target may be valid for one answer only.
    func begin() -> Step {
        hops = 0
        do throws(MediaFailure) {
            return try exchange(with: WebAddress(fetch.url, means.settings))
        } catch {
            return .failed(error)
        }
    }

    private func exchange(with address: WebAddress) throws(MediaFailure) -> Step {
        isAccepted = nil
        ignored = 0
        let start = download?.count ?? 0
        let exchange = Exchange(address, of: self, from: start, ifStill: start > 0 ? validator : nil, means.reach)
        guard let exchange else { throw .unreachable }
        self.exchange = exchange
        return .exchange(exchange)
    }

    /// Discards what has been downloaded, and its file.
    func drop() { download = nil }

    // MARK: - The body

    /// False ends the exchange.
    func receive(_ bytes: UnsafeRawBufferPointer, in exchange: Exchange) -> Bool {
        do {
            if isAccepted == nil { isAccepted = try accept(exchange) }
            guard isAccepted == true, let download else {
                ignored += bytes.count
                return ignored <= Self.idleBytes
            }
            try download.add(bytes, announced: exchange.announced)
            return true
        } catch {
            problem = means.failure(error)
            return false
        }
    }

    /// Whether the body is media, or the rest of it.
    private func accept(_ exchange: Exchange) throws -> Bool {
        guard exchange.status == 200 else {
            return exchange.isContinuation && exchange.validator ?? validator == validator
        }
        validator = exchange.validator
        download = try Download(into: means.folder)
        return true
    }

    /// The exchange ends, and none follows.
    func refuse(_ failure: MediaFailure) { problem = failure }

    // MARK: - The end

    func ended(_ code: CURLcode, now: Instant) -> Step {
        guard let exchange = exchange.take() else { return .failed(.unreachable) }
        if let problem = problem.take() { return .failed(problem) }
        switch exchange.status {
        case 301, 302, 303, 307, 308: return follow(exchange, code, now)
        case 200, 206:
            // The server sent another part than was asked for, or another version.
            if isAccepted == false { validator = nil }
            return code == CURLE_OK ? complete(exchange, now) : retry(exchange, .broken, now)
        case 416:
            validator = nil
            return retry(exchange, .status, now)
        case 408, 425, 429, 500, 502, 503, 504: return retry(exchange, .status, now)
        case 200...: return .failed(.status)
        // No status, or an interim one, which announces another.
        default: break
        }
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
            return .failed(.certificate)
        default: return exchange.isForbidden ? .failed(.forbiddenAddress) : retry(exchange, .unreachable, now)
        }
    }

    private func follow(_ exchange: Exchange, _ code: CURLcode, _ now: Instant) -> Step {
        hops += 1
        guard hops <= Self.redirects else { return .failed(.redirects) }
        guard let target = exchange.redirect else {
            // A redirect that broke off is retried; one that is complete or too long would be the same again.
            let isWhole = code == CURLE_OK && exchange.announced != nil
            return isWhole || ignored > Self.idleBytes ? .failed(.redirects) : retry(exchange, .redirects, now)
        }
        do throws(MediaFailure) {
            return try self.exchange(with: WebAddress(target, means.settings))
        } catch {
            return .failed(error == .malformedURL ? .redirects : error)
        }
    }

    private func complete(_ exchange: Exchange, _ now: Instant) -> Step {
        if exchange.status == 200, isAccepted == nil {
            // libcurl takes a response that broke off in its headers for an empty body.
            return exchange.announced == 0 ? .failed(.unsupportedType) : retry(exchange, .unsupportedType, now)
        }
        guard isAccepted == true, let download,
            exchange.status == 200 || exchange.range?.completes(download.count) == true
        else { return retry(exchange, .broken, now) }
        do {
            return .keep(try download.finish())
        } catch {
            return .failed(means.failure(error))
        }
    }

    private func retry(_ exchange: Exchange, _ failure: MediaFailure, _ now: Instant) -> Step {
        let count = download?.count ?? 0
        let next = plan.next(
            now: now, limit: fetch.limit, progressed: count > most, atLeast: exchange.retryAfter,
            jitter: .random(in: 0...1))
        most = max(most, count)
        // The next attempt starts over: the file is not needed until then.
        if validator == nil { download = nil }
        return next.map { .wait($0) } ?? .failed(failure)
    }
}

/// Whether and when a transfer that broke is retried.
struct RetryPlan {
    private static let patience = 4
    private static let first = 200_000_000.0
    private static let longest = 5_000_000_000.0

    /// Attempts in a row that brought nothing.
    private var fruitless = 0

    /// Nil after `patience` fruitless attempts, or if the next would be too late. `jitter`, 0 to 1, spreads retries.
    mutating func next(
        now: Instant, limit: Instant, progressed: Bool, atLeast seconds: Int, jitter: Double
    ) -> Instant? {
        fruitless = progressed ? 0 : fruitless + 1
        guard fruitless < Self.patience else { return nil }
        let most = min(Self.longest, Self.first * Double(1 << fruitless))
        let wait = max(UInt64(most / 2 * (1 + jitter)), UInt64(min(max(seconds, 0), 3600)) * 1_000_000_000)
        let next = now.advanced(nanoseconds: wait)
        return next < limit ? next : nil
    }
}

/// Which part of the whole a body is, from `Content-Range`.
struct ContentRange {
    let first: Int
    let last: Int
    /// Length of the whole; nil if the server does not know it.
    let whole: Int?

    /// Nil if the text names no part.
    init?(_ text: String) {
        let match = text.wholeMatch(of: /bytes (\d+)-(\d+)\/([^\/]*)/.ignoresCase())?.output
        guard let match, let first = Int(match.1), let last = Int(match.2), first <= last else { return nil }
        (self.first, self.last, whole) = (first, last, Int(match.3))
    }

    /// Whether `count` bytes from the beginning are the whole, with this part as its end.
    func completes(_ count: Int) -> Bool { count == whole && last == count - 1 }
}
