import PushmillStages
import Synchronization

/// Who waits for what: everybody who asks for one URL waits for the same fetch, which ends when the last has given up.
final class Requests: Sendable {
    enum Joined {
        /// `isDue`: the file's last use is to be noted.
        case known(Media, isDue: Bool)
        /// The caller starts the fetch.
        case first(Waiter, Fetch)
        case waiting(Waiter)
    }

    private struct Request {
        let fetch: Fetch
        var waiters: [ObjectIdentifier: Waiter]
    }

    private struct State {
        var requests: [String: Request] = [:]
        var memory = Memory()
    }

    private let state = Mutex(State())

    func known(_ url: String, now: Instant) -> (media: Media, isDue: Bool)? {
        state.withLock { $0.memory.find(url, now: now) }
    }

    func join(_ url: String, until limit: Instant, now: Instant) -> Joined {
        state.withLock { state in
            if let (media, isDue) = state.memory.find(url, now: now) { return .known(media, isDue: isDue) }
            let waiter = Waiter()
            if let fetch = state.requests[url]?.fetch {
                fetch.extend(until: limit)
                state.requests[url]?.waiters[ObjectIdentifier(waiter)] = waiter
                return .waiting(waiter)
            }
            let fetch = Fetch(url, until: limit)
            state.requests[url] = Request(fetch: fetch, waiters: [ObjectIdentifier(waiter): waiter])
            return .first(waiter, fetch)
        }
    }

    /// Gives the fetch that nobody waits for any more.
    func leave(_ url: String, _ waiter: Waiter) -> Fetch? {
        let abandoned = state.withLock { state -> Fetch? in
            guard state.requests[url]?.waiters.removeValue(forKey: ObjectIdentifier(waiter)) != nil,
                state.requests[url]?.waiters.isEmpty == true
            else { return nil }
            return state.requests.removeValue(forKey: url)?.fetch
        }
        waiter.end(.failure(.abandoned))
        return abandoned
    }

    func end(_ fetch: Fetch, _ result: FetchResult, now: Instant) {
        let request = state.withLock { state -> Request? in
            if case .success(let media) = result { state.memory.add(media, fetch.url, now: now) }
            guard state.requests[fetch.url]?.fetch === fetch else { return nil }
            return state.requests.removeValue(forKey: fetch.url)
        }
        guard let request else { return }
        for waiter in request.waiters.values { waiter.end(result) }
    }

    func forget(_ names: Set<String>) { state.withLock { $0.memory.forget(names) } }
}
