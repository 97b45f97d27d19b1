import Push

/// Who may ask for a server's address: one at a time for each, because what one has found the others find in libcurl's
/// cache, and only so many at once, because each has a thread of libcurl's. A server is a host and a port, as there.
struct NameGate<Item> {
    private enum State {
        /// One of them asks, or the server is in the queue.
        case waiting(ArraySlice<Item>)
        case known(until: Instant)
    }

    /// Half of what libcurl remembers an address for.
    private static var age: Duration { .seconds(30) }
    private static var limit: Int { 1024 }

    private let mostAsking: Int
    private var asking = 0
    private var servers: [String: State] = [:]
    /// Whose address nobody asks for, although some wait for it.
    private var queue: ArraySlice<String> = []

    init(mostAsking: Int = 64) { self.mostAsking = mostAsking }

    enum Admission {
        case goes
        /// And is the one that asks: `found` or `ended` is to be called.
        case asks
        case waits
    }

    mutating func admit(_ item: Item, to server: String, now: Instant) -> Admission {
        switch servers[server] {
        case .known(let limit) where now < limit: return .goes
        case .waiting(var items):
            // Out of the dictionary it is not shared, and grows in place.
            servers[server] = nil
            items.append(item)
            servers[server] = .waiting(items)
            return .waits
        case .known, nil:
            guard asking < mostAsking else {
                servers[server] = .waiting([item])
                queue.append(server)
                return .waits
            }
            asking += 1
            servers[server] = .waiting([])
            return .asks
        }
    }

    /// Gives all that have waited: they may go. `next` is to be called then.
    mutating func found(_ server: String, now: Instant) -> ArraySlice<Item> {
        guard case .waiting(let items) = servers[server] else { return [] }
        asking -= 1
        if servers.count > Self.limit { forgetOld(now) }
        servers[server] = .known(until: now + Self.age)
        return items
    }

    /// Whoever asked has ended without an address, or did not need one. `next` is to be called then.
    mutating func ended(_ server: String) {
        guard case .waiting(let items) = servers[server] else { return }
        asking -= 1
        if items.isEmpty {
            servers[server] = nil
        } else {
            queue.append(server)
        }
    }

    /// Gives one that `isWanted` and asks from now on; nil if there is none, or enough ask already.
    mutating func next(isWanted: (Item) -> Bool) -> Item? {
        while asking < mostAsking, let server = queue.popFirst() {
            guard case .waiting(let items) = servers.removeValue(forKey: server),
                let next = items.firstIndex(where: isWanted)
            else { continue }
            servers[server] = .waiting(items[(next + 1)...])
            asking += 1
            return items[next]
        }
        return nil
    }

    private mutating func forgetOld(_ now: Instant) {
        servers = servers.filter { _, state in
            if case .known(let limit) = state { now < limit } else { true }
        }
    }
}
