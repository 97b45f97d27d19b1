import PushmillPayload

/// The contacts of a state file as the copy of a compacted topic, and how far that was read. For one thread.
///
/// A record's key is `{"owner": "anna", "id": "c1"}`, its value `{"name": "Zoë"}`; no value, or an empty one, deletes
/// the contact. If the topic is co-partitioned with the input, its partitions come and go: each has its own contacts,
/// which no record of another changes, and only contacts of served partitions are found.
package struct TopicContacts: ~Copyable {
    /// Milliseconds. Unless configured otherwise, compaction may drop a deletion a day after it was written: after an
    /// absence this long, a reader may have missed one.
    private static let longestAbsence = Int64(12 * 3600 * 1000)

    /// With a mark for each read, more than come in a minute in most cases.
    static let keptMarks = 128

    private let topic: String
    private let cluster: String
    private let isCoPartitioned: Bool
    /// Where contacts are read again from the beginning of the topic.
    var rereading: Set<Int32> = []
    /// What is read there, until it replaces the present contacts.
    private let rows: ContactRows
    let store: ContactStore

    /// Forgets contacts of another source. Of the topic's `count` partitions, returns those that must be read again
    /// because they may have missed a deletion. `now` is in milliseconds since 1970.
    package mutating func discardStale(partitions count: Int, now: Int64) throws(StoreError) -> Set<Int32> {
        let all = Set(0..<Int32(clamping: count))
        guard try isSource() else {
            try claim()
            return all
        }
        let stale = try stale(partitions: count, now)
        guard !stale.isEmpty else { return [] }
        // Removed partitions can name no contact again. Without co-partitioning, those that are left may do so.
        if isCoPartitioned || count == 0 {
            try startOver(stale, now: now)
            _ = try complete(stale.filter { $0 >= count }, now: now)
            return isCoPartitioned ? stale : all
        }
        try startOver(all, now: now)
        return all
    }

    private func stale(partitions count: Int, _ now: Int64) throws(StoreError) -> Set<Int32> {
        let first = now &- Self.longestAbsence
        var stale: Set<Int32> = []
        // A time in the future was written by a wrong clock, so it is unknown when the partition was seen.
        let query = try store.database.prepare("SELECT partition, seen FROM contact_position")
        while try query.step() {
            let (partition, seen) = (Int32(truncatingIfNeeded: query.integer(0)), query.integer(1))
            let isEarly = seen > now && !PlantedContactFault.isPlanted(.clockAheadTrusted)
            let isOld = seen <= first && !PlantedContactFault.isPlanted(.absenceIgnored)
            let mayMiss = isEarly || isOld && !rereading.contains(place(of: partition))
            if partition >= count || mayMiss { stale.insert(partition) }
        }
        let begun = try store.database.prepare("SELECT partition FROM contact_reread WHERE begun<=? OR begun>?")
        try begun.bind(1, first)
        try begun.bind(2, now)
        while try begun.step() { stale.insert(max(0, Int32(truncatingIfNeeded: begun.integer(0)))) }
        return stale
    }

    /// The records that were read of each partition and serve to recognise its log, by offset. The contacts include
    /// everything up to the last one.
    package func marks() throws(StoreError) -> [Int32: [RecordPosition]] {
        // A position that the previous release wrote has no mark.
        let query = try store.database.prepare(
            "SELECT partition, offset, timestamp FROM contact_mark AS mark WHERE offset<="
                + "(SELECT offset FROM contact_position AS last WHERE last.partition=mark.partition) UNION "
                + "SELECT partition, offset, timestamp FROM contact_position WHERE offset>=0 ORDER BY 1, 2")
        var marks: [Int32: [RecordPosition]] = [:]
        while try query.step() {
            let partition = Int32(truncatingIfNeeded: query.integer(0))
            marks[partition, default: []].append(
                RecordPosition(partition: partition, offset: query.integer(1), timestamp: query.integer(2)))
        }
        return marks
    }

    /// The partition's log is the one that was read up to this record.
    package func forgetMarks(before mark: RecordPosition) throws(StoreError) {
        let remove = try store.database.prepare("DELETE FROM contact_mark WHERE partition=? AND offset<?")
        try remove.run(Int64(mark.partition), mark.offset)
    }

    /// The number under which the store has a partition's contacts: the same for all if contacts have no partition.
    func place(of partition: Int32) -> Int32 { isCoPartitioned ? partition : ContactStore.noPartition }

    func places(of partitions: some Collection<Int32>) -> Set<Int32> { Set(partitions.map { place(of: $0) }) }

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
        let isVisible = records.contains { !rereading.contains(place(of: $0.position.partition)) }
        guard isVisible else {
            return try store.database.transaction { () throws(StoreError) in try put(records, now) }
        }
        return try store.change { () throws(StoreError) in try put(records, now) }
    }

    /// These partitions have been read to their ends. Before that, deletions written since their reading began may be
    /// missed.
    package func see(_ partitions: Set<Int32>, now: Int64) throws(StoreError) {
        try store.database.transaction { () throws(StoreError) in
            try checkSource()
            let put = try store.database.prepare("UPDATE contact_position SET seen=? WHERE partition=?")
            for partition in partitions
            where !rereading.contains(place(of: partition)) || PlantedContactFault.isPlanted(.rereadingSeen) {
                try put.run(now, Int64(partition))
            }
        }
    }

    private func put(_ records: [TopicRecord], _ now: Int64) throws(StoreError) -> [RefusedRecord] {
        try checkSource()
        var refused: [RefusedRecord] = []
        var read: [Int32: (first: RecordPosition, last: RecordPosition)] = [:]
        var key = ContactMembers()
        var value = ContactMembers()
        for record in records {
            let position = record.position
            read[position.partition] = (read[position.partition]?.first ?? position, position)
            let contact: ContactMembers.Key
            let name: JSONNode?
            do throws(ContactMembers.Malformed) {
                (contact, name) = try self.read(record, &key, &value)
            } catch {
                refused.append(RefusedRecord(position: position, what: error.what))
                continue
            }
            let place = place(of: position.partition)
            try key.withKey(contact) { (owner, id) throws(StoreError) in
                guard let name else { return try remove(owner: owner, id: id, in: place) }
                try value.withText(of: name) { (name) throws(StoreError) in
                    try put(owner: owner, id: id, name: name, in: place)
                }
            }
        }
        let putPosition = try store.database.prepare(
            "INSERT INTO contact_position VALUES(?, ?, ?, ?) "
                + "ON CONFLICT DO UPDATE SET offset=excluded.offset, timestamp=excluded.timestamp")
        for (partition, (first, last)) in read {
            let seen = rereading.contains(place(of: partition)) ? 0 : now
            try putPosition.run(Int64(partition), last.offset, last.timestamp, seen)
            try mark(first, last)
        }
        return refused
    }

    private func put(owner: RawSpan, id: RawSpan, name: RawSpan, in place: Int32) throws(StoreError) {
        guard isCollected(place) else { return try store.put(owner: owner, id: id, name: name, in: place) }
        try rows.put(owner: owner, id: id, name: name, in: place)
    }

    /// What is read of it is collected beside the present contacts.
    private func isCollected(_ place: Int32) -> Bool {
        rereading.contains(place) && !PlantedContactFault.isPlanted(.rereadInPlace)
    }

    private func remove(owner: RawSpan, id: RawSpan, in place: Int32) throws(StoreError) {
        guard isCollected(place) else { return try store.remove(owner: owner, id: id, in: place) }
        try rows.remove(owner: owner, id: id, in: place)
    }

    /// Adds the last record that was read to the marks of its partition, or `first` as well if there are none.
    private func mark(_ first: RecordPosition, _ last: RecordPosition) throws(StoreError) {
        let query = try store.database.prepare("SELECT offset FROM contact_mark WHERE partition=? ORDER BY offset")
        try query.bind(1, Int64(last.partition))
        var offsets: [Int64] = []
        while try query.step() { offsets.append(query.integer(0)) }
        let put = try store.database.prepare("INSERT OR REPLACE INTO contact_mark VALUES(?, ?, ?)")
        for mark in offsets.isEmpty ? [first, last] : [last] {
            try put.run(Int64(mark.partition), mark.offset, mark.timestamp)
            offsets.append(mark.offset)
        }
        let remove = try store.database.prepare("DELETE FROM contact_mark WHERE partition=? AND offset=?")
        for offset in Self.surplus(offsets) { try remove.run(Int64(last.partition), offset) }
    }

    /// Of the offsets of marks, in their order, those that need none any more. The last ones are all kept: brokers may
    /// have lost what was read just before one of them. Of the others, the oldest is kept for each power of two of the
    /// distance to the last, so always the first.
    static func surplus(_ offsets: [Int64]) -> [Int64] {
        guard let last = offsets.last, offsets.count > 2 * keptMarks else { return [] }
        var taken: Set<Int> = []
        return offsets.dropLast(keptMarks).filter { offset in
            !taken.insert(Int64.bitWidth - (last - offset).leadingZeroBitCount).inserted
        }
    }

    /// A nil name is a deletion.
    private func read(
        _ record: TopicRecord, _ key: inout ContactMembers, _ value: inout ContactMembers
    ) throws(ContactMembers.Malformed) -> (ContactMembers.Key, name: JSONNode?) {
        guard let bytes = record.key else { throw ContactMembers.Malformed(what: "no key") }
        try key.read(bytes)
        let contact = try key.key()
        guard let bytes = record.value, !bytes.isEmpty else { return (contact, nil) }
        try value.read(bytes)
        return (contact, try value.name())
    }

    private mutating func claim() throws(StoreError) {
        let putSource = try store.database.prepare("INSERT INTO contact_source VALUES(1, ?, ?, ?)")
        try bindSource(to: putSource)
        try store.change { () throws(StoreError) in
            try store.database.execute(
                """
                DELETE FROM contact; DELETE FROM contact_position; DELETE FROM contact_source;
                DELETE FROM contact_reread; DELETE FROM contact_new; DELETE FROM contact_mark;
                DELETE FROM contact_served WHERE partition>=0
                """)
            try putSource.run()
        }
        rereading = []
    }

    /// Throws if contacts were changed by hand meanwhile.
    func checkSource() throws(StoreError) {
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
        let rows = try ContactRows(store.database, table: "contact_new")
        let rereading = try Self.resume(store.database)
        self.init(
            topic: topic, cluster: cluster, isCoPartitioned: isCoPartitioned, rereading: rereading, rows: rows,
            store: store)
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
