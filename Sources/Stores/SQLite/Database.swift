import CPushmillSQLite
import Glibc

/// One connection to a SQLite file, for one thread at a time. Statements may outlive it.
package struct Database: ~Copyable {
    package let path: String
    private let handle: OpaquePointer

    /// Creates the file if it is not there. Every commit is on the disk when it returns (WAL, `synchronous=FULL`).
    package static func open(path: String) throws(StoreError) -> Database {
        // For its owner only, whatever the process's mask is; what SQLite puts beside it has the same mode. Only a file that
        // is not there yet is opened here: to close another one's descriptor would give up SQLite's locks.
        let made = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
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
        let database = Database(handle, path: path)
        sqlite3_extended_result_codes(handle, 1)
        // Writers of one file take turns: no transaction of ours is anywhere near as long as this.
        sqlite3_busy_timeout(handle, 10_000)
        try database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        return database
    }

    private init(_ handle: OpaquePointer, path: String) {
        self.path = path
        self.handle = handle
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
        return Statement(statement, path: path)
    }

    /// All of it or nothing. The write lock is taken at once, so that what `body` reads is still so when it writes.
    package func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try enclose("BEGIN IMMEDIATE", body)
    }

    /// Reads a single moment of the file and keeps nobody from writing.
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
            // A full disk may have rolled back already; a second failure would hide the first.
            if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// Rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes64(handle)) }
}

extension StoreError {
    /// The one place where an error of SQLite becomes one of ours.
    init(_ code: Int32, path: String, handle: OpaquePointer?, sql: String) {
        let message = handle.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        self = .sqlite(path: path, code: code, message: message.map { String(cString: $0) } ?? "", sql: sql)
    }
}
