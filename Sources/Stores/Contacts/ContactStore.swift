import PushmillPayload

/// The contacts in a state file, for changing or listing them. May be used beside a running service.
package struct ContactStore: ~Copyable {
    /// The most contacts in one transaction, so that other writers need not wait for more than these.
    private static let batchSize = 10_000
    /// A batch of contacts ends at this many bytes, which bounds memory.
    private static let batchBytes = 16 << 20
    /// The partition of contacts that belong to no partition of a topic: they are served wherever the file is.
    package static let noPartition: Int32 = -1

    private let rows: ContactRows
    let database: Database

    /// One transaction, in which `put` and `remove` are called. Every process that has the file open sees the change
    /// within a second.
    package func change<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try database.transaction { () throws(StoreError) in
            let result = try body()
            try database.execute("UPDATE contact_revision SET revision=revision+1")
            return result
        }
    }

    package func put(
        owner: RawSpan, id: RawSpan, name: RawSpan, in partition: Int32 = noPartition
    ) throws(StoreError) {
        try rows.put(owner: owner, id: id, name: name, in: partition)
    }

    package func remove(owner: RawSpan, id: RawSpan, in partition: Int32 = noPartition) throws(StoreError) {
        try rows.remove(owner: owner, id: id, in: partition)
    }

    /// A change by hand: afterwards the contacts count as no topic's.
    private func edit<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try change { () throws(StoreError) in
            let result = try body()
            try database.execute(
                """
                DELETE FROM contact_source; DELETE FROM contact_unseen;
                DELETE FROM contact_reread; DELETE FROM contact_new
                """)
            return result
        }
    }
}

extension ContactStore {
    package init(_ state: StateFile) throws(StoreError) {
        let database = try state.connect()
        self.init(rows: try ContactRows(database, table: "contact"), database: database)
    }

    /// Adds or renames the contacts of a JSON Lines file; the same file again changes nothing. `progress` gets the
    /// number of contacts so far. Returns their number. A line that cannot be read ends it; those before it stay.
    package func importLines(_ path: String, progress: (Int) -> Void = { _ in }) throws(StoreError) -> Int {
        var lines = try ContactLines(path)
        var total = 0
        while true {
            let (contacts, isLast, failure) = Self.batch(of: &lines)
            if let failure, contacts.isEmpty { throw failure }
            try edit { () throws(StoreError) in
                for (owner, id, name) in contacts {
                    try put(owner: owner.span.bytes, id: id.span.bytes, name: name.span.bytes)
                }
            }
            total += contacts.count
            progress(total)
            if let failure { throw failure }
            if isLast { return total }
        }
    }

    /// Contacts are read before the transaction begins: their source, such as a query behind a pipe, may take any time,
    /// and other writers would wait for it. `failure`: why the line after these cannot be read.
    private static func batch(
        of lines: inout ContactLines
    ) -> (contacts: [(owner: [UInt8], id: [UInt8], name: [UInt8])], isLast: Bool, failure: StoreError?) {
        var contacts: [(owner: [UInt8], id: [UInt8], name: [UInt8])] = []
        var byteCount = 0
        do throws(StoreError) {
            while contacts.count < batchSize, byteCount < batchBytes {
                let isLine = try lines.next { (owner, id, name) throws(StoreError) in
                    contacts.append((copy(owner), copy(id), copy(name)))
                    byteCount += owner.byteCount + id.byteCount + name.byteCount
                }
                if !isLine { return (contacts, true, nil) }
            }
            return (contacts, false, nil)
        } catch {
            return (contacts, true, error)
        }
    }

    private static func copy(_ bytes: RawSpan) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }

    /// Gives all contacts, or one owner's, as of one moment: by owner and identifier, as lines that can be imported,
    /// many at once. Includes partitions that are not served: their contacts are in the file, and an operator who lists
    /// it must see them. Returns the number of contacts.
    package func exportLines(owner: RawSpan? = nil, _ body: ([UInt8]) -> Void) throws(StoreError) -> Int {
        try database.snapshot { () throws(StoreError) in
            let rows = try database.prepare(
                "SELECT owner, id, name, min(partition) FROM contact"
                    + (owner == nil ? "" : " WHERE owner=?") + " GROUP BY owner, id ORDER BY owner, id")
            if let owner { try rows.bind(1, owner) }
            var lines = LineBatch()
            while try rows.step() {
                lines.add(handOver: body) { line in
                    line.append(rows.bytes(0), as: "owner")
                    line.append(rows.bytes(1), as: "id")
                    line.append(rows.bytes(2), as: "name")
                }
            }
            return lines.finish(handOver: body)
        }
    }

    /// Deletes one owner's contacts, all or the one of this identifier, and returns their number.
    package func delete(owner: RawSpan, id: RawSpan? = nil) throws(StoreError) -> Int {
        let delete = try database.prepare(
            "DELETE FROM contact WHERE owner=?" + (id == nil ? "" : " AND id=?"))
        try delete.bind(1, owner)
        if let id { try delete.bind(2, id) }
        return try edit { () throws(StoreError) in
            try delete.run()
            return database.changes
        }
    }

    /// Empties the write-ahead log, which a running service keeps open, and which would keep deleted names while little
    /// is written. False if a reader takes longer than the timeout.
    package func clearLog() throws(StoreError) -> Bool { try database.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0 }
}

/// Changes the rows of a table of contacts.
struct ContactRows: ~Copyable {
    private let putName: Statement
    private let removeName: Statement

    func put(owner: RawSpan, id: RawSpan, name: RawSpan, in partition: Int32) throws(StoreError) {
        try putName.bind(partition, owner, id)
        try putName.bind(4, name)
        try putName.run()
    }

    func remove(owner: RawSpan, id: RawSpan, in partition: Int32) throws(StoreError) {
        try removeName.bind(partition, owner, id)
        try removeName.run()
    }
}

extension ContactRows {
    init(_ database: borrowing Database, table: String) throws(StoreError) {
        self.init(
            putName: try database.prepare(
                "INSERT INTO \(table) VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET name=excluded.name "
                    + "WHERE name<>excluded.name"),
            removeName: try database.prepare("DELETE FROM \(table) WHERE partition=? AND owner=? AND id=?"))
    }
}

extension Statement {
    /// The key of a contact as the first three arguments.
    func bind(_ partition: Int32, _ owner: RawSpan, _ id: RawSpan) throws(StoreError) {
        try bind(1, Int64(partition))
        try bind(2, owner)
        try bind(3, id)
    }
}

/// JSON Lines, handed over in batches.
package struct LineBatch {
    private static let size = 64 << 10

    private var lines: [UInt8] = []
    private var count = 0

    package init() {}

    package mutating func add(handOver: ([UInt8]) -> Void, _ members: (inout [UInt8]) -> Void) {
        lines.append("{")
        members(&lines)
        lines.append("}\n")
        count += 1
        guard lines.count >= Self.size else { return }
        handOver(lines)
        lines.removeAll(keepingCapacity: true)
    }

    /// Hands over the rest and returns the number of all lines.
    package mutating func finish(handOver: ([UInt8]) -> Void) -> Int {
        if !lines.isEmpty { handOver(lines) }
        return count
    }
}
