package import PushmillLocalization
import PushmillPayload
package import PushmillStages
import Synchronization

/// The contacts in a state file, behind a cache. Changes by other processes are seen within a second.
package final class StoredContacts: ContactBook {
    /// With this many, the threads of two engine shards seldom need the same one.
    private static let shardCount = 8

    private let shards: [Shard]
    private let time: TimeSource

    /// Keeps up to `capacity` contacts in memory.
    package init(_ state: StateFile, capacity: Int = 65_536, time: TimeSource = .system) throws(StoreError) {
        var shards: [Shard] = []
        for _ in 0..<Self.shardCount { shards.append(try Shard(state, capacity: capacity / Self.shardCount)) }
        self.shards = shards
        self.time = time
    }

    package func find(
        _ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void
    ) throws(ContactsUnavailable) -> Bool {
        let hash = KeyIndex.hash(owner, id)
        let now = time.now
        let contact = try shards[Int(hash >> 29)].reader.withLock { (reader) throws(ContactsUnavailable) in
            do throws(StoreError) {
                return try reader.contact(owner, id, hash, now)
            } catch {
                throw ContactsUnavailable("\(error)")
            }
        }
        return contact.giveName(body)
    }

    private final class Shard: Sendable {
        let reader: Mutex<CachedReader>

        init(_ state: StateFile, capacity: Int) throws(StoreError) {
            reader = Mutex(try CachedReader(state, capacity: capacity))
        }
    }
}

/// A connection and a cache of its own.
private struct CachedReader: ~Copyable {
    private let nameQuery: Statement
    private var cache: ContactCache
    private let database: Database
    private var revision: Int64 = -1
    private var nextLook = Instant.past
}

extension CachedReader {
    init(_ state: StateFile, capacity: Int) throws(StoreError) {
        let database = try state.connect()
        self.init(
            // A contact of the shared directory may stand in several partitions.
            nameQuery: try database.prepare(
                "SELECT name FROM contact WHERE owner=? AND id=? AND partition IN contact_served "
                    + "ORDER BY partition LIMIT 1"),
            cache: ContactCache(capacity: capacity), database: database)
    }

    mutating func contact(
        _ owner: RawSpan, _ id: RawSpan, _ hash: UInt32, _ now: Instant
    ) throws(StoreError) -> CachedContact {
        if now >= nextLook { try look(now) }
        if let known = cache.contact(owner, id, hash) { return known }
        let contact = CachedContact(owner, id, hash, name: try name(owner, id))
        cache.insert(contact)
        return contact
    }

    private mutating func look(_ now: Instant) throws(StoreError) {
        guard let found = try database.integer("SELECT revision FROM contact_revision") else { return }
        if found != revision { cache.removeAll() }
        revision = found
        nextLook = now + .seconds(1)
    }

    /// Empty if there is none.
    private func name(_ owner: RawSpan, _ id: RawSpan) throws(StoreError) -> [UInt8] {
        try nameQuery.bind(1, owner)
        try nameQuery.bind(2, id)
        guard try nameQuery.step() else { return [] }
        defer { nameQuery.reset() }
        let name = ContactName.clean(nameQuery.bytes(0).bytes)
        // Longer than any payload.
        return name.count > ContactEntry.longest ? [] : name
    }
}

/// A contact that was looked up. The name is clean; it is empty if no such contact exists.
struct CachedContact {
    /// Owner, identifier and name in one piece of memory, because most contacts' memory is cold.
    private let bytes: [UInt8]
    private let ownerCount: Int
    private let keyCount: Int
    private let direction: TextDirection
    /// Of owner and identifier.
    let hash: UInt32
    /// Looked up since the hand of the cache's clock passed.
    fileprivate var isRecent = false

    init(_ owner: RawSpan, _ id: RawSpan, _ hash: UInt32, name: [UInt8]) {
        self.hash = hash
        ownerCount = owner.byteCount
        keyCount = ownerCount + id.byteCount
        bytes = owner.withUnsafeBytes { Array($0) } + id.withUnsafeBytes { Array($0) } + name
        direction = TextDirection(of: name.span)
    }

    var byteCount: Int { bytes.count }

    /// False if no such contact exists.
    func giveName(_ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        guard keyCount < bytes.count else { return false }
        body(bytes.span.extracting(droppingFirst: keyCount), direction)
        return true
    }

    func isOf(_ owner: RawSpan, _ id: RawSpan) -> Bool {
        guard ownerCount == owner.byteCount, keyCount - ownerCount == id.byteCount else { return false }
        let key = bytes.span.bytes
        return key.extracting(first: ownerCount).hasSameBytes(as: owner)
            && key.extracting(ownerCount..<keyCount).hasSameBytes(as: id)
    }
}

/// The contacts looked up last, including those that turned out not to exist. Bounded in number and, because senders
/// choose what is looked up, in bytes.
struct ContactCache: ~Copyable {
    /// Bytes. A longer contact is not kept.
    private static let longest = 512

    private let capacity: Int
    private var entries: [CachedContact] = []
    private var index = KeyIndex()
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { entries.count }

    /// Nil if nothing is known of the contact.
    mutating func contact(_ owner: RawSpan, _ id: RawSpan, _ hash: UInt32) -> CachedContact? {
        guard let found = index.find(hash, where: { entries[$0].isOf(owner, id) }) else { return nil }
        entries[found].isRecent = true
        return entries[found]
    }

    /// Adds a contact that the cache does not know.
    mutating func insert(_ contact: CachedContact) {
        guard contact.byteCount <= Self.longest else { return }
        if entries.count < capacity {
            index.insert(contact.hash, entries.count)
            return entries.append(contact)
        }
        advance()
        while entries[hand].isRecent {
            entries[hand].isRecent = false
            advance()
        }
        index.remove(entries[hand].hash, hand)
        index.insert(contact.hash, hand)
        entries[hand] = contact
    }

    private mutating func advance() { hand = hand + 1 < entries.count ? hand + 1 : 0 }

    mutating func removeAll() {
        entries.removeAll()
        index = KeyIndex()
        hand = 0
    }
}
