import Push

/// The contacts of a state file as the copy of a compacted topic, and how far that was read. For one thread.
///
/// A record's key is `{"owner": "anna", "id": "c1"}`, its value `{"name": "Zoë"}`; no value deletes the contact.
package struct TopicContacts: ~Copyable {
    /// Compaction may drop a deletion a day after it was written, unless configured otherwise: who has seen nothing for
    /// so long may have missed one.
    private static let longestAbsence = Int64(12 * 3600 * 1000)

    private let topic: String
    private let cluster: String
    private let store: ContactStore
    private let putPosition: Statement
    private let putSeen: Statement

    package init(_ state: StateFile, topic: String, cluster: String) throws(StoreError) {
        let store = try ContactStore(state)
        let putPosition = try store.database.prepare(
            "INSERT INTO contact_position VALUES(?, ?, ?) "
                + "ON CONFLICT DO UPDATE SET offset=excluded.offset, timestamp=excluded.timestamp")
        let putSeen = try store.database.prepare("UPDATE contact_source SET seen=? WHERE cluster=? AND topic=?")
        self.topic = topic
        self.cluster = cluster
        self.store = store
        self.putPosition = putPosition
        self.putSeen = putSeen
    }

    /// The last record of each partition that the contacts contain. Empty where they are another source's, or may have
    /// missed something: then they are forgotten, to be read anew. `now` is in milliseconds since 1970.
    package func resume(partitions: Int, now: Int64) throws(StoreError) -> [RecordPosition] {
        let positions = try positions()
        guard let seen = try seen(), now &- seen < Self.longestAbsence,
            positions.allSatisfy({ $0.partition < partitions })
        else {
            try startOver(now: now)
            return []
        }
        return positions
    }

    /// Forgets all contacts, of whatever source.
    package func startOver(now: Int64) throws(StoreError) {
        let putSource = try store.database.prepare("INSERT INTO contact_source VALUES(1, ?, ?, ?)")
        try putSource.bind(1, cluster)
        try putSource.bind(2, topic)
        try putSource.bind(3, now)
        try store.change { () throws(StoreError) in
            try store.database.execute(
                "DELETE FROM contact; DELETE FROM contact_position; DELETE FROM contact_source")
            try putSource.run()
        }
    }

    /// Puts what the records say into the contacts, all in one transaction. Gives those that say nothing of a contact.
    package func apply(_ records: [TopicRecord], now: Int64) throws(StoreError) -> [RefusedRecord] {
        var refused: [RefusedRecord] = []
        try store.change { () throws(StoreError) in
            refused = try apply(records)
            try putSeen(now)
        }
        return refused
    }

    /// Nothing new has come.
    package func see(now: Int64) throws(StoreError) { try putSeen(now) }

    private func apply(_ records: [TopicRecord]) throws(StoreError) -> [RefusedRecord] {
        var refused: [RefusedRecord] = []
        var last: [Int32: RecordPosition] = [:]
        var key = ContactMembers()
        var value = ContactMembers()
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
            try key.withKey(contact) { (owner, id) throws(StoreError) in
                guard let name else { return try store.remove(owner: owner, id: id) }
                try value.withText(of: name) { (name) throws(StoreError) in
                    try store.put(owner: owner, id: id, name: name)
                }
            }
        }
        for position in last.values { try put(position) }
        return refused
    }

    /// No name is a deletion.
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

    private func put(_ position: RecordPosition) throws(StoreError) {
        try putPosition.bind(1, Int64(position.partition))
        try putPosition.bind(2, position.offset)
        try putPosition.bind(3, position.timestamp)
        try putPosition.run()
    }

    /// Throws when contacts were changed by hand meanwhile.
    private func putSeen(_ now: Int64) throws(StoreError) {
        try putSeen.bind(1, now)
        try putSeen.bind(2, cluster)
        try putSeen.bind(3, topic)
        try putSeen.run()
        guard store.database.changes == 1 else {
            throw .damaged(path: store.database.path, what: "its contacts are no longer those of the topic \(topic)")
        }
    }

    /// When the topic was last read for these contacts; nil if they are not its.
    private func seen() throws(StoreError) -> Int64? {
        let query = try store.database.prepare("SELECT seen FROM contact_source WHERE cluster=? AND topic=?")
        try query.bind(1, cluster)
        try query.bind(2, topic)
        return try query.step() ? query.integer(0) : nil
    }

    private func positions() throws(StoreError) -> [RecordPosition] {
        let query = try store.database.prepare("SELECT partition, offset, timestamp FROM contact_position")
        var positions: [RecordPosition] = []
        while try query.step() {
            positions.append(
                RecordPosition(
                    partition: Int32(truncatingIfNeeded: query.integer(0)), offset: query.integer(1),
                    timestamp: query.integer(2)))
        }
        return positions
    }
}
