import CPushmillCurl
import PushmillStages

/// The way to one piece of media: as many exchanges as redirects and broken connections make of it. Belongs to the
/// transfers' thread.
final class Transfer {
    /// What is to be done next.
    enum Step {
        case exchange(Exchange)
        /// To begin again then.
        case wait(Instant)
        case keep(Download.Finished)
        case failed(MediaFailure)
    }

    private static let redirects = 5
    /// What comes with a redirect or an error is read to its end, for the connection's sake, if it is no longer.
    private static let idleBytes = 64 << 10

    let fetch: Fetch
    /// The one that goes on, or waits for its server's address.
    var exchange: Exchange?
    private let means: Means
    private var plan = RetryPlan()
    private var hops = 0
    private var download: Download?
    /// Of what has been downloaded; without one a broken connection begins it anew.
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

    /// From the URL that was given, also after a redirect: where that leads may last for one answer only.
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

    /// Lets go of what has come so far, and of its file.
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

    // MARK: - The end

    func ended(_ code: CURLcode, now: Instant) -> Step {
        guard let exchange = exchange.take() else { return .failed(.unreachable) }
        if let problem = problem.take() { return .failed(problem) }
        switch exchange.status {
        case 301, 302, 303, 307, 308: return follow(exchange, code, now)
        case 200, 206:
            // The server has another part than was asked for, or another version.
            if isAccepted == false { validator = nil }
            return code == CURLE_OK ? complete(exchange, now) : retry(exchange, .broken, now)
        case 416:
            validator = nil
            return retry(exchange, .status, now)
        case 408, 425, 429, 500, 502, 503, 504: return retry(exchange, .status, now)
        case 200...: return .failed(.status)
        // None, or one that only announces another.
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
            // It broke off, unless it is whole, or was too long, as it would be again.
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
            // libcurl takes what broke off in its headers for an empty body.
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
        // It begins anew: nobody needs the file until then.
        if validator == nil { download = nil }
        return next.map { .wait($0) } ?? .failed(failure)
    }
}

/// When a transfer that broke is tried again, and whether at all.
struct RetryPlan {
    private static let patience = 4
    private static let first = 200_000_000.0
    private static let longest = 5_000_000_000.0

    /// Attempts in a row that brought nothing.
    private var fruitless = 0

    /// Nil: not within the limit. `jitter` from 0 to 1 keeps those that broke together from coming back together.
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

/// Which part of the whole a body is, as `Content-Range` has it.
struct ContentRange {
    let first: Int
    let last: Int
    /// How long the whole is; nil where the server does not know.
    let whole: Int?

    /// Nil for what names no part.
    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        self.first = first
        self.last = last
        whole = Int(parts[1])
    }

    /// Whether so many bytes from the beginning are the whole, with this as its end.
    func completes(_ count: Int) -> Bool { count == whole && last == count - 1 }
}
