/// Decides which exchange may ask for a server's address that libcurl has not cached: one at a time for each server,
/// because the others find its answer in libcurl's cache, and only so many at once, because each occupies a thread of
/// libcurl. A server is a host and a port, as in that cache.
struct NameGate<Item> {
    private let mostAsking: Int
    private var asking = 0
    /// The items that wait, for each server whose address an item asks for, or that is in the queue.
    private var waiting: [String: ArraySlice<Item>] = [:]
    /// Servers that items wait for, but that no item asks for.
    private var queue: ArraySlice<String> = []
    /// Servers whose addresses were found before, at most `mostAsking`: names without an answer do not hold them up.
    private var known: Set<String> = []

    init(mostAsking: Int = 256) { self.mostAsking = mostAsking }

    /// True if the item is to ask: `found` or `ended` must be called then. Otherwise it waits.
    mutating func admit(_ item: Item, to server: String) -> Bool {
        // Once out of the dictionary the items are not shared, and grow in place.
        if var items = waiting.removeValue(forKey: server) {
            items.append(item)
            waiting[server] = items
            return false
        }
        guard asking < mostAsking || known.contains(server) else {
            waiting[server] = [item]
            queue.append(server)
            return false
        }
        asking += 1
        waiting[server] = []
        return true
    }

    /// Returns all items that waited and may go on. Call `next` afterwards.
    mutating func found(_ server: String) -> ArraySlice<Item> {
        asking -= 1
        if known.count >= mostAsking, !known.contains(server) { known.removeFirst() }
        known.insert(server)
        return waiting.removeValue(forKey: server) ?? []
    }

    /// The transfer that asked has ended without an address, or needed none. Call `next` afterwards.
    mutating func ended(_ server: String) {
        asking -= 1
        if waiting[server]?.isEmpty == false {
            queue.insert(server, at: known.contains(server) ? queue.startIndex : queue.endIndex)
        } else {
            waiting[server] = nil
        }
    }

    /// Returns an item that `isWanted` and asks from now on; nil if there is none, or if enough items ask already.
    mutating func next(isWanted: (Item) -> Bool) -> Item? {
        while let server = queue.first, asking < mostAsking || known.contains(server) {
            queue.removeFirst()
            guard let items = waiting.removeValue(forKey: server), let next = items.firstIndex(where: isWanted)
            else { continue }
            waiting[server] = items[(next + 1)...]
            asking += 1
            return items[next]
        }
        return nil
    }
}

/// What transfers can reach, and how patiently. By default: the public internet, trusting the system's certificate
/// authorities. Tests use another.
package struct Reach: Sendable {
    /// Whether a socket's address may be connected to.
    package var admits: @Sendable (UnsafeRawBufferPointer) -> Bool = PublicAddress.contains
    /// Names that are resolved without a name server: `NAME:PORT:ADDRESS`.
    package var names: [String] = []
    /// A file of trusted certificates instead of the system's.
    package var authorities: String?
    /// An exchange that receives nothing for this long is retried: longer than servers take for media made on request,
    /// but short enough for another attempt within a message's default deadline of thirty seconds.
    package var patience = Duration.seconds(10)

    package init() {}
}
