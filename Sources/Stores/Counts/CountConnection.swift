/// The connection of one owner to a file of counts, and what it says in SQL.
struct CountConnection: ~Copyable {
    private static let version = 1

    /// The hash is in the order of its bytes, so that rows sorted by it are next to each other.
    private static let schema = """
        CREATE TABLE counts(
            account BLOB PRIMARY KEY, count INTEGER NOT NULL, source INTEGER NOT NULL, incarnation INTEGER NOT NULL)
            WITHOUT ROWID;
        CREATE TABLE meta(
            id INTEGER PRIMARY KEY CHECK(id=1),
            cluster TEXT NOT NULL, changelog TEXT NOT NULL, source TEXT NOT NULL, secret INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            partition INTEGER, offset INTEGER, timestamp INTEGER,
            highest_count INTEGER, highest_source INTEGER, highest_incarnation INTEGER);
        PRAGMA user_version=\(version)
        """

    private let database: Database
    private let find: Statement
    private let put: Statement
    private let note: Statement
    /// Grows with each opening: who opened the file earlier writes nothing any more.
    private let owner: Int64
    /// As they were when it was opened.
    let position: RecordPosition?
    let highest: CountState?

    /// Throws `damaged` where the file is not of this identity.
    static func open(
        path: String, identity: CountFile.Identity, cacheKilobytes: Int
    ) throws(StoreError) -> CountConnection {
        let database = try Database.open(path: path)
        // The file is a copy: after a crash of the machine it may lack its last transactions, as long as it is whole.
        try database.execute(
            "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-\(cacheKilobytes); PRAGMA mmap_size=0; "
                + "PRAGMA journal_size_limit=4194304")
        let owner = try database.transaction { () throws(StoreError) in try take(database, identity) }
        let (position, highest) = try read(database)
        let find = try database.prepare("SELECT count, source, incarnation FROM counts WHERE account=?")
        let put = try database.prepare(
            "INSERT INTO counts VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                + "count=excluded.count, source=excluded.source, incarnation=excluded.incarnation")
        let note = try database.prepare(
            "UPDATE meta SET partition=?, offset=?, timestamp=?, "
                + "highest_count=?, highest_source=?, highest_incarnation=? WHERE owner=?")
        return CountConnection(
            database: database, find: find, put: put, note: note, owner: owner, position: position, highest: highest)
    }

    /// Makes the tables of an empty file.
    private static func take(
        _ database: borrowing Database, _ identity: CountFile.Identity
    ) throws(StoreError) -> Int64 {
        let version = try database.integer("PRAGMA user_version") ?? 0
        if version == 0, try database.integer("SELECT count(*) FROM sqlite_schema") == 0 {
            try database.execute(schema)
            let insert = try database.prepare(
                "INSERT INTO meta(id, cluster, changelog, source, secret, owner) VALUES(1, ?, ?, ?, ?, 1)")
            try insert.bind(1, identity.cluster)
            try insert.bind(2, identity.changelog)
            try insert.bind(3, identity.source)
            try insert.bind(4, identity.secret)
            try insert.run()
            return 1
        }
        guard version == Self.version else {
            throw .damaged(path: database.path, what: "of version \(version), not \(Self.version)")
        }
        let query = try database.prepare("SELECT cluster, changelog, source, secret, owner FROM meta")
        guard try query.step() else { throw .damaged(path: database.path, what: "does not say whose it is") }
        let (cluster, changelog, source) = (query.text(0), query.text(1), query.text(2))
        let (secret, owner) = (query.integer(3), query.integer(4))
        query.reset()
        for (what, found, expected) in [
            ("cluster", cluster, identity.cluster), ("changelog", changelog, identity.changelog),
            ("partition", source, identity.source),
        ] where found != expected {
            throw .damaged(path: database.path, what: "of another \(what): \(found), not \(expected)")
        }
        guard secret == identity.secret else { throw .damaged(path: database.path, what: "of another secret") }
        try database.execute("UPDATE meta SET owner=owner+1")
        return owner + 1
    }

    private static func read(
        _ database: borrowing Database
    ) throws(StoreError) -> (RecordPosition?, CountState?) {
        let query = try database.prepare(
            """
            SELECT partition, offset, timestamp, highest_count, highest_incarnation, highest_source,
                partition IS NOT NULL, highest_count IS NOT NULL FROM meta
            """)
        defer { query.reset() }
        guard try query.step() else { throw .damaged(path: database.path, what: "does not say where it stands") }
        let position = RecordPosition(
            partition: Int32(clamping: query.integer(0)), offset: query.integer(1), timestamp: query.integer(2))
        let highest = CountState(
            count: Int32(clamping: query.integer(3)), incarnation: UInt32(clamping: query.integer(4)),
            offset: query.integer(5))
        return (query.integer(6) == 1 ? position : nil, query.integer(7) == 1 ? highest : nil)
    }

    func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) throws(StoreError) {
        try database.snapshot { () throws(StoreError) in
            for account in accounts {
                try bind(account, to: find)
                guard try find.step() else { continue }
                let state = CountState(
                    count: Int32(clamping: find.integer(0)), incarnation: UInt32(clamping: find.integer(2)),
                    offset: find.integer(1))
                find.reset()
                body(account, state)
            }
        }
    }

    func write(
        _ rows: [(account: AccountHash, state: CountState)], at position: RecordPosition?, highest: CountState?
    ) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            try note.bindNumbers(position.map { [Int64($0.partition), $0.offset, $0.timestamp] }, from: 1)
            try note.bindNumbers(
                highest.map { [Int64($0.count), $0.offset, Int64($0.incarnation)] }, from: 4)
            try note.bind(7, owner)
            try note.run()
            guard database.changes == 1 else { throw .inUse(path: database.path) }
            for (account, state) in rows {
                try bind(account, to: put)
                try put.bind(2, Int64(state.count))
                try put.bind(3, state.offset)
                try put.bind(4, Int64(state.incarnation))
                try put.run()
            }
        }
    }

    /// Runs the statement's next step with the account as its first argument.
    private func bind(_ account: AccountHash, to statement: borrowing Statement) throws(StoreError) {
        let bytes = (account.high.bigEndian, account.low.bigEndian)
        try withUnsafeBytes(of: bytes) { (bytes) throws(StoreError) in
            try statement.bind(1, bytes.bytes)
        }
    }
}

extension Statement {
    /// Three numbers, or nothing, one after the other.
    fileprivate func bindNumbers(_ numbers: [Int64]?, from index: Int32) throws(StoreError) {
        guard let numbers else {
            for place in index..<index + 3 { try bindNothing(place) }
            return
        }
        for (place, number) in zip(index..., numbers) { try bind(place, number) }
    }
}
