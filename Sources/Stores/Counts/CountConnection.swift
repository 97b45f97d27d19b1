/// One owner's connection to a count file, and its SQL.
struct CountConnection: ~Copyable {
    private static let version = 2
    /// Milliseconds. Messages wait meanwhile, and a write that fails is repeated later.
    private static let patience: Int32 = 500

    /// The hash is stored big-endian, so that rows sorted by it are next to each other.
    private static let schema = """
        CREATE TABLE counts(
            account BLOB PRIMARY KEY, count INTEGER NOT NULL, source INTEGER NOT NULL, incarnation INTEGER NOT NULL)
            WITHOUT ROWID;
        CREATE TABLE meta(
            id INTEGER PRIMARY KEY CHECK(id=1),
            identity TEXT NOT NULL, first_secret INTEGER NOT NULL, second_secret INTEGER NOT NULL,
            owner INTEGER NOT NULL DEFAULT 1, partition INTEGER NOT NULL DEFAULT -1, offset INTEGER NOT NULL DEFAULT -1,
            timestamp INTEGER NOT NULL DEFAULT -1, highest_count INTEGER NOT NULL DEFAULT 0,
            highest_source INTEGER NOT NULL DEFAULT -1, highest_incarnation INTEGER NOT NULL DEFAULT -1);
        PRAGMA user_version=\(version)
        """

    private let database: Database
    private let find: Statement
    private let put: Statement
    private let note: Statement
    /// Grows with each opening: connections opened earlier write nothing more.
    private let owner: Int64
    let secret: AccountSecret
    /// As they were when it was opened.
    let position: RecordPosition?
    let highest: CountState?

    /// Throws `damaged` if the file is not of this identity. The secret is only for a new file.
    static func open(
        path: String, identity: String, secret: AccountSecret
    ) throws(StoreError) -> CountConnection {
        let database = try Database.open(path: path, patience: patience)
        // The file is a copy: after a crash of the machine it may lack its last transactions, but must be intact.
        try database.execute(
            "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-1024; PRAGMA mmap_size=0; "
                + "PRAGMA journal_size_limit=4194304")
        let (owner, secret, position, highest) = try database.transaction { () throws(StoreError) in
            try make(database, identity, secret)
            return try take(database, identity)
        }
        let find = try database.prepare("SELECT count, source, incarnation FROM counts WHERE account=?")
        let put = try database.prepare(
            "INSERT INTO counts VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                + "count=excluded.count, source=excluded.source, incarnation=excluded.incarnation")
        let note = try database.prepare(
            "UPDATE meta SET partition=?, offset=?, timestamp=?, "
                + "highest_count=?, highest_source=?, highest_incarnation=? WHERE owner=?")
        return CountConnection(
            database: database, find: find, put: put, note: note, owner: owner, secret: secret, position: position,
            highest: highest)
    }

    /// Makes the tables of an empty file.
    private static func make(
        _ database: borrowing Database, _ identity: String, _ secret: AccountSecret
    ) throws(StoreError) {
        let version = try database.integer("PRAGMA user_version") ?? 0
        if version == Self.version { return }
        guard version == 0, try database.integer("SELECT count(*) FROM sqlite_schema") == 0 else {
            throw .damaged(path: database.path, what: "has version \(version), not \(Self.version)")
        }
        try database.execute(schema)
        let insert = try database.prepare(
            "INSERT INTO meta(id, owner, first_secret, second_secret, identity) VALUES(1, 0, ?, ?, ?)")
        try insert.bind(3, identity)
        try insert.run(Int64(bitPattern: secret.first), Int64(bitPattern: secret.second))
    }

    private static func take(
        _ database: borrowing Database, _ identity: String
    ) throws(StoreError) -> (owner: Int64, AccountSecret, RecordPosition?, highest: CountState?) {
        try database.execute("UPDATE meta SET owner=owner+1")
        let query = try database.prepare(
            """
            SELECT owner, first_secret, second_secret, partition, offset, timestamp,
                highest_count, highest_incarnation, highest_source, identity FROM meta
            """)
        guard try query.step() else { throw .damaged(path: database.path, what: "has no position") }
        let found = query.text(9)
        guard found == identity else {
            throw .damaged(path: database.path, what: "belongs to \(found), not to \(identity)")
        }
        let secret = AccountSecret(UInt64(bitPattern: query.integer(1)), UInt64(bitPattern: query.integer(2)))
        let position = RecordPosition(
            partition: Int32(clamping: query.integer(3)), offset: query.integer(4), timestamp: query.integer(5))
        let highest = CountState(
            count: Int32(clamping: query.integer(6)), incarnation: UInt32(clamping: query.integer(7)),
            offset: query.integer(8))
        return (
            query.integer(0), secret, position.partition < 0 ? nil : position, query.integer(7) < 0 ? nil : highest
        )
    }

    /// No other connection has opened the file since.
    func isOwner() throws(StoreError) -> Bool { try database.integer("SELECT owner FROM meta") == owner }

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
            let place = position ?? RecordPosition(partition: -1, offset: -1)
            try note.run(
                Int64(place.partition), place.offset, place.timestamp, Int64(highest?.count ?? 0),
                highest?.offset ?? -1, highest.map { Int64($0.incarnation) } ?? -1, owner)
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

    /// The account as the statement's first argument.
    private func bind(_ account: AccountHash, to statement: borrowing Statement) throws(StoreError) {
        let bytes = (account.high.bigEndian, account.low.bigEndian)
        try withUnsafeBytes(of: bytes) { (bytes) throws(StoreError) in
            try statement.bind(1, bytes.bytes)
        }
    }
}
