/// Decides which exchange may have a connection: servers that hang or send a byte now and then leave others theirs.
/// While half of the connections are free any exchange may have one. Beyond that, all servers that are asked share seven
/// eighths of them; the rest is for servers that are asked next.
struct HostShares<Item> {
    private let connections: Int
    /// How many connections each server has, also those with none whose items wait.
    private var held: [String: Int] = [:]
    private var total = 0
    private var waiting: [String: ArraySlice<Item>] = [:]
    /// The servers whose items wait, in the order of their turns.
    private var turns: ArraySlice<String> = []

    init(connections: Int) { self.connections = connections }

    /// True if the item has a connection: `ended` must be called then. Otherwise it waits.
    mutating func admit(_ item: Item, to server: String) -> Bool {
        // Once out of the dictionary the items are not shared, and grow in place.
        if var items = waiting.removeValue(forKey: server) {
            items.append(item)
            waiting[server] = items
            return false
        }
        held[server, default: 0] += 0
        guard hasRoom(server) else {
            waiting[server] = [item]
            turns.append(server)
            return false
        }
        take(server)
        return true
    }

    /// An item that had a connection needs it no more. Call `next` afterwards.
    mutating func ended(_ server: String) {
        total -= 1
        held[server, default: 1] -= 1
        forgetIfUnused(server)
    }

    /// Returns an item that `isWanted` and has a connection from now on; nil if none can have one.
    mutating func next(isWanted: (Item) -> Bool) -> Item? {
        for _ in turns.indices {
            guard total < connections, let server = turns.popFirst() else { return nil }
            let items = waiting.removeValue(forKey: server) ?? []
            guard let next = items.firstIndex(where: isWanted) else {
                forgetIfUnused(server)
                continue
            }
            let isAdmitted = hasRoom(server)
            let rest = isAdmitted ? items[(next + 1)...] : items[next...]
            if !rest.isEmpty {
                waiting[server] = rest
                turns.append(server)
            }
            guard isAdmitted else { continue }
            take(server)
            return items[next]
        }
        return nil
    }

    private func hasRoom(_ server: String) -> Bool {
        let share = max(1, connections / 8 * 7 / max(1, held.count))
        return total < connections / 2 || total < connections && held[server, default: 0] < share
    }

    private mutating func take(_ server: String) {
        total += 1
        held[server, default: 0] += 1
    }

    private mutating func forgetIfUnused(_ server: String) {
        if held[server] == 0, waiting[server] == nil { held[server] = nil }
    }
}
