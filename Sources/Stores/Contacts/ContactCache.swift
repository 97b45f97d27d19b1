import Push

/// The contacts that were asked for last, and those that turned out to be nobody's. Bounded.
struct ContactCache: ~Copyable {
    private struct Entry {
        var record: [UInt8]
        var hash: UInt32
        /// Asked for since the hand of the clock came by.
        var isRecent = false
    }

    enum Answer {
        case unknown
        /// The name was appended; nil if the contact is nobody's.
        case known(TextDirection?)
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var index = KeyIndex()
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { entries.count }

    mutating func append(
        nameOf id: RawSpan, for owner: RawSpan, _ hash: UInt32, to text: inout [UInt8]
    ) -> Answer {
        let found = index.find(hash) { ContactRecord.matches(entries[$0].record, at: 0, owner: owner, id: id) }
        guard let found else { return .unknown }
        entries[found].isRecent = true
        return .known(ContactRecord.append(nameOf: entries[found].record, at: 0, to: &text))
    }

    /// Remembers the answer to what was unknown, and gives it. A contact too long for a record is only given.
    mutating func insert(
        owner: RawSpan, id: RawSpan, name: [UInt8], _ hash: UInt32, to text: inout [UInt8]
    ) -> TextDirection? {
        text.append(contentsOf: name)
        var record: [UInt8] = []
        if ContactRecord.append(owner: owner, id: id, name: name, to: &record) {
            insert(Entry(record: record, hash: hash))
        }
        return name.isEmpty ? nil : TextDirection(of: name.span)
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
