/// The records of contacts that were asked for last, and those that turned out to be nobody's. Bounded, in number and,
/// because what is asked for comes from senders, in bytes.
struct ContactCache: ~Copyable {
    /// A longer record is not kept.
    private static let longest = 512

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

    /// Nil if nothing is known of the contact.
    mutating func record(_ owner: RawSpan, _ id: RawSpan, _ hash: UInt32) -> [UInt8]? {
        let found = index.find(hash) { ContactRecord.matches(entries[$0].record, at: 0, owner: owner, id: id) }
        guard let found else { return nil }
        entries[found].isRecent = true
        return entries[found].record
    }

    /// Remembers what was unknown.
    mutating func insert(_ record: [UInt8], _ hash: UInt32) {
        guard record.count <= Self.longest else { return }
        let entry = Entry(record: record, hash: hash)
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
