import PushmillPayload

/// The contacts of a state file as the copy of a compacted topic, and how far that was read. For one thread.
///
/// A record's key is `{"owner": "anna", "id": "c1"}`, its value `{"name": "Zoë"}`; no value deletes the contact. If the
/// topic is co-partitioned with the input, its partitions come and go: each has its own contacts, which no record of
/// another changes, and only contacts of served partitions are found.
package struct TopicContacts: ~Copyable {
    /// Milliseconds. Unless configured otherwise, compaction may drop a deletion a day after it was written: after an
    /// absence this long, a reader may have missed one.
    private static let longestAbsence = Int64(12 * 3600 * 1000)

    private let topic: String
    private let cluster: String
    private let isCoPartitioned: Bool
    /// Some of the contacts may be gone from the topic, which is being read from its beginning.
    private var hasUnseen: Bool
    private let store: ContactStore

    /// Forgets contacts of another source. Of the topic's `count` partitions, returns those that must be read again
    /// because they may have missed a deletion. `now` is in milliseconds since 1970.
    package mutating func discardStale(partitions count: Int, now: Int64) throws(StoreError) -> Set<Int32> {
        let all = Set(0..<Int32(clamping: count))
        guard try isSource() else {
            try claim()
            return all
        }
        // A time in the future was written by a wrong clock, so it is unknown when the partition was seen.
        let query = try store.database.prepare(
            "SELECT partition FROM contact_position WHERE seen<=? OR seen>? OR partition>=?")
        try query.bind(1, now &- Self.longestAbsence)
        try query.bind(2, now)
        try query.bind(3, Int64(count))
        var stale: Set<Int32> = []
        while try query.step() { stale.insert(Int32(truncatingIfNeeded: query.integer(0))) }
        guard !stale.isEmpty else { return [] }
        try startOver(stale)
        // Removed partitions can name no contact again. Without co-partitioning, those that are left may do so.
        if isCoPartitioned || count == 0 { try complete(stale.filter { $0 >= count }) }
        return isCoPartitioned ? stale : all
    }

    /// The last record of each partition that the contacts include.
    package func positions() throws(StoreError) -> [Int32: RecordPosition] {
        let query = try store.database.prepare("SELECT partition, offset, timestamp FROM contact_position")
        var positions: [Int32: RecordPosition] = [:]
        while try query.step() {
            let partition = Int32(truncatingIfNeeded: query.integer(0))
            positions[partition] = RecordPosition(
                partition: partition, offset: query.integer(1), timestamp: query.integer(2))
        }
        return positions
    }

    /// These partitions are to be read from their beginning; if contacts have no partition, all are. Existing contacts
    /// stay until `complete`.
    package mutating func startOver(_ partitions: Set<Int32>) throws(StoreError) {
        let places = places(of: partitions)
        let note = try store.database.prepare(
            "INSERT OR IGNORE INTO contact_unseen SELECT partition, owner, id FROM contact WHERE partition=?")
        let removePosition = try store.database.prepare("DELETE FROM contact_position WHERE ? IN (partition, -1)")
        try store.database.transaction { () throws(StoreError) in
            for place in places {
                try note.run(place)
                try removePosition.run(place)
            }
        }
        hasUnseen = true
    }

    /// The numbers under which the store has their contacts: a single one for all if contacts have no partition.
    private func places(of partitions: some Collection<Int32>) -> [Int64] {
        isCoPartitioned ? partitions.map { Int64($0) } : [Int64(ContactStore.noPartition)]
    }

    /// These partitions have been read to their ends; if contacts have no partition, all have. Deletes contacts that no
    /// record has named since `startOver`.
    package mutating func complete(_ partitions: some Collection<Int32>) throws(StoreError) {
        guard hasUnseen, !partitions.isEmpty else { return }
        let places = places(of: partitions)
        // One after another: a statement that deletes them all would need a temporary file, and no folder may take one.
        let find = try store.database.prepare("SELECT owner, id FROM contact_unseen WHERE partition=?")
        let forget = try store.database.prepare("DELETE FROM contact_unseen WHERE partition=?")
        try store.change { () throws(StoreError) in
            for place in places {
                try find.bind(1, place)
                while try find.step() {
                    try store.remove(owner: find.bytes(0).bytes, id: find.bytes(1).bytes, in: Int32(clamping: place))
                }
                try forget.run(place)
            }
        }
        hasUnseen = try store.database.integer("SELECT 1 FROM contact_unseen") != nil
    }

    /// From now on only contacts of these partitions are found. Without co-partitioning all are always found.
    package func serve(only partitions: Set<Int32>) throws(StoreError) {
        guard isCoPartitioned else { return }
        let put = try store.database.prepare("INSERT INTO contact_served VALUES(?)")
        try store.change { () throws(StoreError) in
            try store.database.execute("DELETE FROM contact_served WHERE partition>=0")
            for partition in partitions { try put.run(Int64(partition)) }
        }
    }

    /// Applies the records to the contacts, all in one transaction. Returns the records that are not valid contacts.
    package func apply(_ records: [TopicRecord], now: Int64) throws(StoreError) -> [RefusedRecord] {
        try store.change { () throws(StoreError) in
            try checkSource()
            return try put(records, now)
        }
    }

    /// These partitions have been read to their ends. Before that, deletions written since their reading began may be
    /// missed.
    package func see(_ partitions: Set<Int32>, now: Int64) throws(StoreError) {
        try store.database.transaction { () throws(StoreError) in
            try checkSource()
            let put = try store.database.prepare("UPDATE contact_position SET seen=? WHERE partition=?")
            for partition in partitions { try put.run(now, Int64(partition)) }
        }
    }

    private func put(_ records: [TopicRecord], _ now: Int64) throws(StoreError) -> [RefusedRecord] {
        var refused: [RefusedRecord] = []
        var last: [Int32: RecordPosition] = [:]
        var key = ContactMembers()
        var value = ContactMembers()
        let nameAgain = try store.database.prepare(
            "DELETE FROM contact_unseen WHERE partition=? AND owner=? AND id=?")
        let putPosition = try store.database.prepare(
            "INSERT INTO contact_position VALUES(?, ?, ?, ?) "
                + "ON CONFLICT DO UPDATE SET offset=excluded.offset, timestamp=excluded.timestamp")
        for record in records {
            last[record.position.partition] = record.position
            let contact: ContactMembers.Key
            let name: JSONNode?
            do throws(ContactMembers.Malformed) {
                (contact, name) = try read(record, &key, &value)
            } catch {
                refused.append(RefusedRecord(position: record.position, what: error.what))
                continue
            }
            let partition = isCoPartitioned ? record.position.partition : ContactStore.noPartition
            try key.withKey(contact) { (owner, id) throws(StoreError) in
                if hasUnseen {
                    try nameAgain.bind(partition, owner, id)
                    try nameAgain.run()
                }
                guard let name else { return try store.remove(owner: owner, id: id, in: partition) }
                try value.withText(of: name) { (name) throws(StoreError) in
                    try store.put(owner: owner, id: id, name: name, in: partition)
                }
            }
        }
        for place in last.values {
            try putPosition.run(Int64(place.partition), place.offset, place.timestamp, now)
        }
        return refused
    }

    /// A nil name is a deletion.
    private func read(
        _ record: TopicRecord, _ key: inout ContactMembers, _ value: inout ContactMembers
    ) throws(ContactMembers.Malformed) -> (ContactMembers.Key, name: JSONNode?) {
        guard let bytes = record.key else { throw ContactMembers.Malformed(what: "no key") }
        try key.read(bytes)
        let contact = try key.key()
        guard let bytes = record.value else { return (contact, nil) }
        try value.read(bytes)
        return (contact, try value.name())
    }

    private func claim() throws(StoreError) {
        let putSource = try store.database.prepare("INSERT INTO contact_source VALUES(1, ?, ?, ?)")
        try bindSource(to: putSource)
        try store.change { () throws(StoreError) in
            try store.database.execute(
                """
                DELETE FROM contact; DELETE FROM contact_position; DELETE FROM contact_source;
                DELETE FROM contact_unseen;
                DELETE FROM contact_served WHERE partition>=0
                """)
            try putSource.run()
        }
    }

    /// Throws if contacts were changed by hand meanwhile.
    private func checkSource() throws(StoreError) {
        guard try isSource() else {
            throw .damaged(path: store.database.path, what: "its contacts are no longer those of the topic \(topic)")
        }
    }

    private func isSource() throws(StoreError) -> Bool {
        let query = try store.database.prepare(
            "SELECT 1 FROM contact_source WHERE cluster=? AND topic=? AND is_copartitioned=?")
        try bindSource(to: query)
        return try query.step()
    }

    private func bindSource(to statement: borrowing Statement) throws(StoreError) {
        try statement.bind(1, cluster)
        try statement.bind(2, topic)
        try statement.bind(3, isCoPartitioned ? 1 : 0)
    }
}

extension TopicContacts {
    package init(
        _ state: StateFile, topic: String, cluster: String, isCoPartitioned: Bool = false
    ) throws(StoreError) {
        let store = try ContactStore(state)
        self.init(
            topic: topic, cluster: cluster, isCoPartitioned: isCoPartitioned,
            hasUnseen: try store.database.integer("SELECT 1 FROM contact_unseen") != nil, store: store)
    }
}

/// A record of a compacted topic that is copied here. The caller holds its memory.
package typealias TopicRecord = (
    position: RecordPosition, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
)

/// A record that is not valid in its topic, and why.
package struct RefusedRecord: Sendable, Equatable {
    package let position: RecordPosition
    package let what: String
}
