import Push

/// The contacts that were asked for last, and those that turned out to be nobody's. Bounded.
struct ContactCache: ~Copyable {
    private struct Entry {
        var record: [UInt8]
        var hash: UInt32
        /// Asked for since the hand of the clock came by.
        var isRecent = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var index = KeyIndex()
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { entries.count }

    /// Gives the name; false if the contact is known to be nobody's, nil if nothing is known of it.
    mutating func find(
        _ id: RawSpan, of owner: RawSpan, _ hash: UInt32, _ body: (Span<UInt8>, TextDirection) -> Void
    ) -> Bool? {
        let found = index.find(hash) { ContactRecord.matches(entries[$0].record, at: 0, owner: owner, id: id) }
        guard let found else { return nil }
        entries[found].isRecent = true
        return ContactRecord.giveName(of: entries[found].record, at: 0, body)
    }

    /// Remembers what was unknown; an empty name for nobody's contact. One that is too long for a record is not kept.
    mutating func insert(owner: RawSpan, id: RawSpan, name: [UInt8], _ hash: UInt32) {
        var record: [UInt8] = []
        guard ContactRecord.append(owner: owner, id: id, name: name, to: &record) else { return }
        insert(Entry(record: record, hash: hash))
    }

    private mutating func insert(_ entry: Entry) {
        if entries.count < capacity {
            index.insert(entry.hash, entries.count)
            entries.append(entry)
            return
        }
        advance()
        while entries[hand].isRecent {
            entries[hand].isRecent = false
            advance()
        }
        index.remove(entries[hand].hash, hand)
        index.insert(entry.hash, hand)
        entries[hand] = entry
    }

    private mutating func advance() { hand = hand + 1 < entries.count ? hand + 1 : 0 }

    mutating func removeAll() {
        entries.removeAll()
        index = KeyIndex()
        hand = 0
    }
}
