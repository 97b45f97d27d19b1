import CPushmillSQLite
import Glibc

/// One connection to a SQLite file, for one thread at a time. Statements may outlive it.
package struct Database: ~Copyable {
    package let path: String
    private let handle: OpaquePointer

    /// Creates the file if it does not exist. Every commit is on disk when it returns (WAL, `synchronous=FULL`).
    /// Writers of one file take turns, and wait for theirs for up to ten seconds.
    package static func open(path: String) throws(StoreError) -> Database {
        // Only the owner has access, whatever the umask; SQLite's files beside it get the same mode. Only a file that
        // does not exist yet is opened here: closing another one's descriptor would release SQLite's locks.
        let made = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // SQLite itself creates a file without a name.
        guard made >= 0 || errno == EEXIST || path.isEmpty else { throw .unopened(path) }
        if made >= 0 { close(made) }
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard let handle, code == SQLITE_OK else {
            let error = StoreError(code, path: path, handle: handle, sql: "open")
            // A failed open leaves a handle all the same.
            sqlite3_close_v2(handle)
            throw error
        }
        let database = Database(path: path, handle: handle)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, 10_000)
        try database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        return database
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs one or more statements that take no arguments; rows are dropped.
    package func execute(_ sql: String) throws(StoreError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StoreError(code, path: path, handle: handle, sql: sql) }
    }

    package func prepare(_ sql: String) throws(StoreError) -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard let statement, code == SQLITE_OK else { throw StoreError(code, path: path, handle: handle, sql: sql) }
        return Statement(handle: statement, path: path)
    }

    /// The first number of the first row; nil if there is no row.
    func integer(_ sql: String) throws(StoreError) -> Int64? {
        let query = try prepare(sql)
        return try query.step() ? query.integer(0) : nil
    }

    /// Throws if a page is damaged: a query would notice that only if it needs the page. Reads the whole file, a
    /// million contacts in a seventh of a second.
    func check() throws(StoreError) {
        let query = try prepare("PRAGMA quick_check(1)")
        guard try query.step(), query.text(0) != "ok" else { return }
        throw .damaged(path: path, what: query.text(0))
    }

    /// All of it or nothing. Takes the write lock at once, so that what `body` reads is still true when it writes.
    package func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try enclose("BEGIN IMMEDIATE", body)
    }

    /// Reads the file as of one moment, and blocks no writer.
    package func snapshot<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try enclose("BEGIN", body)
    }

    private func enclose<Result>(
        _ begin: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try execute(begin)
        do throws(StoreError) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // If the disk is full, SQLite may have rolled back already; a second failure would hide the first.
            if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// Rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes64(handle)) }
}

/// A prepared statement, made once and reused by the thread of its connection.
package struct Statement: ~Copyable {
    fileprivate let handle: OpaquePointer
    fileprivate let path: String

    deinit { sqlite3_finalize(handle) }

    /// Arguments are numbered from 1 and stay until they are bound again. The bytes are copied.
    package func bind(_ index: Int32, _ bytes: RawSpan) throws(StoreError) {
        let code = bytes.withUnsafeBytes { bytes in
            // A null pointer would bind NULL, not the empty blob.
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, index, 0) }
            return sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), pushmill_sqlite_transient())
        }
        try check(code)
    }

    package func bind(_ index: Int32, _ text: String) throws(StoreError) {
        try check(sqlite3_bind_text(handle, index, text, -1, pushmill_sqlite_transient()))
    }

    package func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        try check(sqlite3_bind_int64(handle, index, number))
    }

    /// Goes to the next row; false at the end, after which the statement can be run again.
    package func step() throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = failure(code)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs it to its end with these numbers as its first arguments; rows are dropped.
    package func run(_ numbers: Int64...) throws(StoreError) {
        for (index, number) in zip(Int32(1)..., numbers) { try bind(index, number) }
        while try step() {}
    }

    /// Drops the rows that are left.
    package func reset() { sqlite3_reset(handle) }

    /// The columns of the row that `step` went to, numbered from 0.
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func text(_ column: Int32) -> String {
        sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
    }

    /// The bytes are valid until the next step or reset.
    package func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    private func failure(_ code: Int32) -> StoreError {
        let sql = sqlite3_sql(handle).map { String(cString: $0) } ?? ""
        return StoreError(code, path: path, handle: sqlite3_db_handle(handle), sql: sql)
    }
}

/// What can go wrong with stored state.
package enum StoreError: Error, Equatable {
    /// SQLite failed; `sql` is the statement, or what was attempted if there is none.
    case sqlite(path: String, code: Int32, message: String, sql: String)
    /// Another process holds the file.
    case inUse(path: String)
    /// The system refused to open or lock a file.
    case unopened(path: String, error: Int32)
    /// A newer version wrote the file.
    case newerSchema(path: String, found: Int, known: Int)
    /// A line in a file that was given to us, not written by us.
    case unreadableLine(path: String, line: Int, what: String)
    /// What the file holds is not what was written there.
    case damaged(path: String, what: String)
    /// A whole file that is not ours.
    case ofAnother(path: String, what: String)
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        // SQLite chooses the folder of a file without a name.
        case .sqlite("", let code, let message, let sql):
            "a temporary file (in TMPDIR, or else in /var/tmp): \(message) (SQLite \(code)) at: \(sql)"
        case .sqlite(let path, let code, let message, let sql): "\(path): \(message) (SQLite \(code)) at: \(sql)"
        case .inUse(let path): "\(path): in use by another process; stop it first"
        case .unopened(let path, let error): "\(path): \(String(cString: strerror(error)))"
        case .newerSchema(let path, let found, let known):
            "\(path): written by a newer release (schema \(found), this one reads up to \(known + 1)): use that release, or the "
                + "one before it"
        case .unreadableLine(let path, let line, let what): "\(path):\(line): \(what)"
        case .damaged(let path, let what): "\(path): damaged: \(what)"
        case .ofAnother(let path, let what): "\(path): \(what)"
        }
    }
}

extension StoreError {
    /// The only place where an error of SQLite becomes one of ours.
    init(_ code: Int32, path: String, handle: OpaquePointer?, sql: String) {
        var message = (handle.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)).map { String(cString: $0) } ?? ""
        // Such as a full disk, which SQLite calls an I/O error in its shared memory.
        if let handle, code & 0xff == SQLITE_IOERR {
            message += ": \(String(cString: strerror(sqlite3_system_errno(handle))))"
        }
        self = .sqlite(path: path, code: code, message: message, sql: sql)
    }

    /// The system's error for the call that has just failed.
    static func unopened(_ path: String) -> StoreError {
        .unopened(path: path, error: errno)
    }

    /// The file will not recover: what it holds is not ours, or damaged.
    package var isDamage: Bool {
        switch self {
        case .damaged, .ofAnother, .newerSchema: true
        case .sqlite(_, let code, _, _):
            [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_MISMATCH, SQLITE_ERROR].contains(code & 0xff)
        case .inUse, .unopened, .unreadableLine: false
        }
    }
}
