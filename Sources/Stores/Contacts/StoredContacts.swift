package import PushmillStages
import Synchronization

/// The contacts in a state file, behind a cache. What another process changes there is seen within a second.
package final class StoredContacts: ContactBook {
    private let shards: [Shard]

    /// `capacity` contacts are kept in memory.
    package init(_ state: StateFile, capacity: Int = 65_536, time: TimeSource = .system) throws(StoreError) {
        var shards: [Shard] = []
        for _ in 0..<Self.shardCount {
            shards.append(try Shard(state, capacity: capacity / Self.shardCount, time: time))
        }
        self.shards = shards
    }

    /// Two shards' threads seldom meet in one of so many.
    private static let shardCount = 8

    package func find(
        _ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void
    ) throws(ContactsUnavailable) -> Bool {
        let hash = KeyIndex.hash(owner, id)
        let record = try shards[Int(hash >> 29)].record(owner, id, hash)
        return record.map { ContactRecord.giveName(of: $0, at: 0, body) } ?? false
    }
}

extension StoredContacts {
    /// A connection and a cache of its own.
    private final class Shard: Sendable {
        private let reader: Mutex<CachedReader>
        private let time: TimeSource

        init(_ state: StateFile, capacity: Int, time: TimeSource) throws(StoreError) {
            reader = Mutex(try CachedReader(state, capacity: capacity))
            self.time = time
        }

        func record(_ owner: RawSpan, _ id: RawSpan, _ hash: UInt32) throws(ContactsUnavailable) -> [UInt8]? {
            let now = time.now
            return try reader.withLock { (reader) throws(ContactsUnavailable) in
                do throws(StoreError) {
                    return try reader.record(owner, id, hash, now)
                } catch {
                    throw ContactsUnavailable("\(error)")
                }
            }
        }
    }

    private struct CachedReader: ~Copyable {
        private let database: Database
        private let nameQuery: Statement
        private let revisionQuery: Statement
        private var cache: ContactCache
        private var revision: Int64 = -1
        private var nextLook = Instant(nanoseconds: 0)

        init(_ state: StateFile, capacity: Int) throws(StoreError) {
            let database = try state.connect()
            // A contact of the shared directory may stand in several partitions.
            let nameQuery = try database.prepare(
                "SELECT name FROM contact WHERE owner=? AND id=? AND partition IN contact_served "
                    + "ORDER BY partition LIMIT 1")
            let revisionQuery = try database.prepare("SELECT revision FROM contact_revision")
            self.database = database
            self.nameQuery = nameQuery
            self.revisionQuery = revisionQuery
            cache = ContactCache(capacity: capacity)
        }

        /// Nil for a contact that is too long for any payload.
        mutating func record(
            _ owner: RawSpan, _ id: RawSpan, _ hash: UInt32, _ now: Instant
        ) throws(StoreError) -> [UInt8]? {
            if now >= nextLook { try look(now) }
            if let known = cache.record(owner, id, hash) { return known }
            var record: [UInt8] = []
            let name = try name(owner, id)
            guard ContactRecord.append(owner: owner, id: id, name: name, to: &record) else { return nil }
            cache.insert(record, hash)
            return record
        }

        private mutating func look(_ now: Instant) throws(StoreError) {
            guard try revisionQuery.step() else { return }
            let found = revisionQuery.integer(0)
            revisionQuery.reset()
            if found != revision { cache.removeAll() }
            revision = found
            nextLook = now + .seconds(1)
        }

        /// Empty where there is none.
        private func name(_ owner: RawSpan, _ id: RawSpan) throws(StoreError) -> [UInt8] {
            try nameQuery.bind(1, owner)
            try nameQuery.bind(2, id)
            guard try nameQuery.step() else { return [] }
            defer { nameQuery.reset() }
            return ContactName.clean(nameQuery.bytes(0).bytes)
        }
    }
}
