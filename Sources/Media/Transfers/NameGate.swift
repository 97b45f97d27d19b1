/// Who may ask for a server's address that libcurl does not remember: one at a time for each, because what one has found
/// the others find in libcurl's cache, and only so many at once, because each has a thread of libcurl's. A server is a
/// host and a port, as there.
struct NameGate<Item> {
    private let mostAsking: Int
    private var asking = 0
    /// Of each server whose address somebody asks for, or that is in the queue, those that wait for it.
    private var waiting: [String: ArraySlice<Item>] = [:]
    /// Whose address nobody asks for, although some wait for it.
    private var queue: ArraySlice<String> = []
    /// Whose addresses were found before, no more than may ask. They do not wait for names that nobody answers for.
    private var known: Set<String> = []

    init(mostAsking: Int = 64) { self.mostAsking = mostAsking }

    /// Whether it is the one that asks: `found` or `ended` is to be called then. It waits if not.
    mutating func admit(_ item: Item, to server: String) -> Bool {
        // Out of the dictionary they are not shared, and grow in place.
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

    /// Gives all that have waited: they may go. `next` is to be called then.
    mutating func found(_ server: String) -> ArraySlice<Item> {
        asking -= 1
        if known.count >= mostAsking, !known.contains(server) { known.removeAll() }
        known.insert(server)
        return waiting.removeValue(forKey: server) ?? []
    }

    /// The transfer that asked has ended without an address, or did not need one. `next` is to be called then.
    mutating func ended(_ server: String) {
        asking -= 1
        if waiting[server]?.isEmpty == false {
            queue.insert(server, at: known.contains(server) ? queue.startIndex : queue.endIndex)
        } else {
            waiting[server] = nil
        }
    }

    /// Gives one that `isWanted` and asks from now on; nil if there is none, or enough ask already.
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

/// What transfers can reach, and how patiently: the public internet, in the names of its authorities. Tests have another
/// one.
package struct Reach: Sendable {
    /// Whether a socket's address may be connected to.
    package var admits: @Sendable (UnsafeRawBufferPointer) -> Bool = PublicAddress.contains
    /// Names that are not asked of anybody: `NAME:PORT:ADDRESS`.
    package var names: [String] = []
    /// A file of certificates instead of the system's.
    package var authorities: String?
    /// What brings nothing for so long is begun again: more than servers take for media that they make when asked, and
    /// soon enough for another attempt within the deadline of thirty seconds that a message has unless configured.
    package var patience = Duration.seconds(10)

    package init() {}
}
