import Push

/// Who may ask for a host's address: one at a time for each host, because libcurl has a thread for each that asks, and
/// what one has found the others find in its cache.
struct NameGate<Item> {
    private enum State {
        case asked(waiting: ArraySlice<Item>)
        case known(until: Instant)
    }

    /// Half of what libcurl remembers an address for.
    private static var age: Duration { .seconds(30) }
    private static var limit: Int { 1024 }

    private var hosts: [String: State] = [:]

    enum Admission {
        case goes
        /// And is the one that asks: `found` or `ended` is to be called.
        case asks
        case waits
    }

    mutating func admit(_ item: Item, to host: String, now: Instant) -> Admission {
        switch hosts[host] {
        case .known(let limit) where now < limit: return .goes
        case .asked(var waiting):
            // Out of the dictionary it is not shared, and grows in place.
            hosts[host] = nil
            waiting.append(item)
            hosts[host] = .asked(waiting: waiting)
            return .waits
        case .known, nil:
            hosts[host] = .asked(waiting: [])
            return .asks
        }
    }

    /// Gives all that have waited: they may go.
    mutating func found(_ host: String, now: Instant) -> ArraySlice<Item> {
        guard case .asked(let waiting) = hosts[host] else { return [] }
        if hosts.count > Self.limit { forgetOld(now) }
        hosts[host] = .known(until: now + Self.age)
        return waiting
    }

    /// Whoever asked has ended without an address, or did not need one. Gives the next, which asks if it `isWanted`.
    mutating func ended(_ host: String, isWanted: (Item) -> Bool) -> Item? {
        guard case .asked(let waiting) = hosts.removeValue(forKey: host) else { return nil }
        guard let next = waiting.firstIndex(where: isWanted) else { return nil }
        hosts[host] = .asked(waiting: waiting[(next + 1)...])
        return waiting[next]
    }

    private mutating func forgetOld(_ now: Instant) {
        hosts = hosts.filter { _, state in
            if case .known(let limit) = state { now < limit } else { true }
        }
    }
}
