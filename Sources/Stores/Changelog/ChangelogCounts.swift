/// The counts of a state file as the copy of a compacted changelog's partitions, and how far each of them is known. For
/// one thread.
///
/// A copy: what is lost of it is read again. So commits do not wait for the disk, and stay in their order.
package struct ChangelogCounts: ~Copyable {
    /// Compaction may drop a tombstone a day after it was written, unless configured otherwise: who has seen nothing of a
    /// partition for so long may have missed one.
    private static let longestAbsence = Int64(12 * 3600 * 1000)

    private let database: Database
    private let putCount: Statement
    private let removeCount: Statement
    private let putPosition: Statement
    private let putSeen: Statement

    /// Forgets what the file has of another topic, or of one of another cluster.
    package init(_ state: StateFile, topic: String, cluster: String) throws(StoreError) {
        let database = try state.connect()
        try database.execute("PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32768")
        try Self.claim(database, topic: topic, cluster: cluster)
        let putCount = try database.prepare(
            "INSERT INTO partition_badge VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET count=excluded.count")
        let removeCount = try database.prepare(
            "DELETE FROM partition_badge WHERE partition=? AND recipient=? AND app=?")
        let putPosition = try database.prepare(
            "INSERT INTO changelog_position VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE "
                + "SET offset=excluded.offset, timestamp=excluded.timestamp, seen=excluded.seen")
        let putSeen = try database.prepare("UPDATE changelog_position SET seen=? WHERE partition=?")
        self.database = database
        self.putCount = putCount
        self.removeCount = removeCount
        self.putPosition = putPosition
        self.putSeen = putSeen
    }

    private static func claim(
        _ database: borrowing Database, topic: String, cluster: String
    ) throws(StoreError) {
        let query = try database.prepare("SELECT 1 FROM changelog_source WHERE cluster=? AND topic=?")
        try query.bind(1, cluster)
        try query.bind(2, topic)
        let isKnown = try query.step()
        query.reset()
        if isKnown { return }
        let put = try database.prepare("INSERT INTO changelog_source VALUES(1, ?, ?)")
        try put.bind(1, cluster)
        try put.bind(2, topic)
        try database.transaction { () throws(StoreError) in
            try database.execute(
                "DELETE FROM partition_badge; DELETE FROM changelog_position; DELETE FROM changelog_source")
            try put.run()
        }
    }

    /// The last record of the partition that its counts contain; nil where there are none, or none that can be trusted:
    /// those are forgotten, to be read anew. `now` is in milliseconds since 1970.
    package func resume(_ partition: Int32, now: Int64) throws(StoreError) -> RecordPosition? {
        let query = try database.prepare("SELECT offset, timestamp, seen FROM changelog_position WHERE partition=?")
        try query.bind(1, Int64(partition))
        let isKnown = try query.step()
        let position = RecordPosition(
            partition: partition, offset: query.integer(0), timestamp: query.integer(1))
        let seen = query.integer(2)
        query.reset()
        guard isKnown, now &- seen < Self.longestAbsence else {
            try startOver(partition)
            return nil
        }
        return position
    }

    /// Forgets the partition's counts.
    package func startOver(_ partition: Int32) throws(StoreError) {
        let removeCounts = try database.prepare("DELETE FROM partition_badge WHERE partition=?")
        let removePosition = try database.prepare("DELETE FROM changelog_position WHERE partition=?")
        try removeCounts.bind(1, Int64(partition))
        try removePosition.bind(1, Int64(partition))
        try database.transaction { () throws(StoreError) in
            try removeCounts.run()
            try removePosition.run()
        }
    }

    /// Puts what the records say into the counts, all in one transaction.
    package func apply(_ batch: ChangelogBatch, now: Int64) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            try batch.forEach { (partition, recipient, app, count) throws(StoreError) in
                try put(partition, recipient, app, count)
            }
            for position in batch.positions.values { try put(position, now) }
        }
    }

    /// Keeps what transactions have changed, the latest count of each account, and the last record of each partition that
    /// was part of them, where that is known.
    package func save(_ changes: PendingCounts, now: Int64) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for (account, count) in changes.counts.values {
                guard let partition = account.lease.partition else { continue }
                try account.key.withParts { (recipient, app) throws(StoreError) in
                    try put(partition, recipient, app, count)
                }
            }
            for position in changes.positions.values { try put(position, now) }
        }
    }

    /// Nothing new has come of these partitions.
    package func see(_ partitions: some Sequence<Int32>, now: Int64) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for partition in partitions {
                try putSeen.bind(1, now)
                try putSeen.bind(2, Int64(partition))
                try putSeen.run()
            }
        }
    }

    private func put(_ partition: Int32, _ recipient: RawSpan, _ app: RawSpan, _ count: Int32) throws(StoreError) {
        if count == 0 {
            try Self.bind(partition, recipient, app, to: removeCount)
            try removeCount.run()
        } else {
            try Self.bind(partition, recipient, app, to: putCount)
            try putCount.bind(4, Int64(count))
            try putCount.run()
        }
    }

    private static func bind(
        _ partition: Int32, _ recipient: RawSpan, _ app: RawSpan, to statement: borrowing Statement
    ) throws(StoreError) {
        try statement.bind(1, Int64(partition))
        try statement.bind(2, recipient)
        try statement.bind(3, app)
    }

    private func put(_ position: RecordPosition, _ now: Int64) throws(StoreError) {
        try putPosition.bind(1, Int64(position.partition))
        try putPosition.bind(2, position.offset)
        try putPosition.bind(3, position.timestamp)
        try putPosition.bind(4, now)
        try putPosition.run()
    }
}
