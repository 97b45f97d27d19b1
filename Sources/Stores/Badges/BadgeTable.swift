import Push

/// The counts in a state file, for those who look at them or put them right. Beside a running service only to read:
/// it shows each count as of the last checkpoint.
package struct BadgeTable: ~Copyable {
    private let database: Database

    package init(_ state: StateFile) throws(StoreError) { database = try state.connect() }

    /// Every count, or one recipient's, in no particular order.
    package func forEach(
        recipient: RawSpan? = nil,
        _ body: (_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        try database.snapshot { () throws(StoreError) in
            let newest = try JournaledCounts(of: database)
            let rows = try database.prepare(
                "SELECT recipient, app, count FROM badge" + (recipient == nil ? "" : " WHERE recipient=?"))
            if let recipient { try rows.bind(1, recipient) }
            while try rows.step() {
                let (key, app) = (rows.bytes(0).bytes, rows.bytes(1).bytes)
                if !newest.contains(key, app) { try body(key, app, rows.count(2)) }
            }
            for (key, count) in newest.counts {
                try key.withParts { (name, app) throws(StoreError) in
                    if let recipient, !recipient.hasSameBytes(as: name) { return }
                    try body(name, app, count)
                }
            }
        }
    }

    /// Gives the same as JSON Lines, many at once: `{"recipient": "anna", "app": "com.example", "count": 3}`. Returns their
    /// number.
    package func exportLines(recipient: RawSpan? = nil, _ body: ([UInt8]) -> Void) throws(StoreError) -> Int {
        var lines = LineBatch()
        try forEach(recipient: recipient) { recipient, app, count in
            lines.add(handOver: body) { line in
                line.add("recipient", recipient)
                line.add("app", app)
                line.add("count", count)
            }
        }
        return lines.finish(handOver: body)
    }

    package func set(recipient: RawSpan, app: RawSpan, to count: Int32) throws(StoreError) {
        try Self.foldJournal(of: database)
        let put = try database.prepare(Self.putCount)
        try put.bind(1, recipient)
        try put.bind(2, app)
        try put.bind(3, Int64(count))
        try put.run()
    }

    /// Deletes all counts of one recipient and returns their number.
    package func delete(recipient: RawSpan) throws(StoreError) -> Int {
        try Self.foldJournal(of: database)
        let delete = try database.prepare("DELETE FROM badge WHERE recipient=?")
        try delete.bind(1, recipient)
        try delete.run()
        return database.changes
    }

    private static let putCount =
        "INSERT INTO badge VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET count=excluded.count"

    static func foldJournal(of database: borrowing Database) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            let newest = try JournaledCounts(of: database)
            if newest.counts.isEmpty { return }
            let put = try database.prepare(putCount)
            for (key, count) in newest.counts {
                try key.withParts { (recipient, app) throws(StoreError) in
                    try put.bind(1, recipient)
                    try put.bind(2, app)
                }
                try put.bind(3, Int64(count))
                try put.run()
            }
            try database.execute("DELETE FROM badge_journal")
        }
    }
}

/// Reads the counts of recipients who are not in memory. One for each lane.
package struct BadgeReader: ~Copyable {
    private let database: Database
    private let ofInstance: Statement
    private let ofPartition: Statement

    package init(_ state: StateFile) throws(StoreError) {
        let database = try state.connect()
        let ofInstance = try database.prepare("SELECT count FROM badge WHERE recipient=? AND app=?")
        let ofPartition = try database.prepare(
            "SELECT count FROM partition_badge WHERE recipient=? AND app=? AND partition=?")
        self.database = database
        self.ofInstance = ofInstance
        self.ofPartition = ofPartition
    }

    /// 0 for a recipient without a count.
    package func count(recipient: RawSpan, app: RawSpan, lease: CountLease) throws(StoreError) -> Int32 {
        guard let partition = lease.partition else { return try Self.count(recipient, app, ofInstance) }
        try ofPartition.bind(3, Int64(partition))
        return try Self.count(recipient, app, ofPartition)
    }

    private static func count(
        _ recipient: RawSpan, _ app: RawSpan, _ query: borrowing Statement
    ) throws(StoreError) -> Int32 {
        try query.bind(1, recipient)
        try query.bind(2, app)
        guard try query.step() else { return 0 }
        defer { query.reset() }
        return query.count(0)
    }
}

extension Statement {
    func count(_ column: Int32) -> Int32 { Int32(clamping: max(0, integer(column))) }
}
