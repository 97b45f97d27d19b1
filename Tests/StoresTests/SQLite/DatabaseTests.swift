import PushmillTestSupport
import Testing

@testable import PushmillStores

struct DatabaseTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("An error carries the statement and SQLite's message")
    func errors() throws {
        let database = try Database.open(path: folder.stateFile)
        let error = #expect(throws: StoreError.self) { try database.execute("SELECT 1 FROM nowhere") }
        expect(
            error?.description, is: "\(folder.stateFile): no such table: nowhere (SQLite 1) at: SELECT 1 FROM nowhere")
    }

    @Test("The error of a failing step names its statement, which can be run again")
    func failingStep() throws {
        let database = try Database.open(path: folder.stateFile)
        try database.execute("CREATE TABLE t(x UNIQUE)")
        let insert = try database.prepare("INSERT INTO t VALUES(?)")
        try insert.bind(1, 1)
        try insert.run()
        let error = #expect(throws: StoreError.self) { try insert.run() }
        guard case .sqlite(_, let code, let message, let sql) = error else {
            Issue.record("not an error of SQLite: \(String(describing: error))")
            return
        }
        #expect(code & 0xFF == 19 && message.contains("UNIQUE") && sql == "INSERT INTO t VALUES(?)")
        try insert.bind(1, 2)
        try insert.run()
    }

    @Test("A transaction that throws leaves nothing behind, and the next one works")
    func rollback() throws {
        let database = try Database.open(path: folder.stateFile)
        try database.execute("CREATE TABLE t(x)")
        #expect(throws: StoreError.self) {
            try database.transaction { () throws(StoreError) in
                try database.execute("INSERT INTO t VALUES(1)")
                throw .damaged(path: "", what: "")
            }
        }
        try database.transaction { () throws(StoreError) in try database.execute("INSERT INTO t VALUES(2)") }
        let rows = try database.prepare("SELECT x FROM t")
        #expect(try rows.step())
        expect(rows.integer(0), is: 2)
        #expect(try !rows.step())
    }

    @Test("Bytes come back as they were", arguments: ["", "a", "\0", "a\0b", "Zoë"])
    func bytes(_ text: String) throws {
        let database = try Database.open(path: folder.stateFile)
        let echo = try database.prepare("SELECT ?, typeof(?1)")
        try text.withBytes { (bytes) throws(StoreError) in try echo.bind(1, bytes) }
        #expect(try echo.step())
        expect(echo.bytes(0).bytes.text, is: text)
        expect(echo.text(1), is: "blob")
    }

    @Test("A database uses WAL and full sync: commits are on the disk when they return")
    func durability() throws {
        let database = try Database.open(path: folder.stateFile)
        for (pragma, value) in [("journal_mode", "wal"), ("synchronous", "2")] {
            let query = try database.prepare("PRAGMA \(pragma)")
            #expect(try query.step())
            expect(query.text(0), is: value)
        }
    }

    @Test("A file that is not a database is refused")
    func otherFile() throws {
        #expect(throws: StoreError.self) { _ = try Database.open(path: "/bin/sh") }
        #expect(throws: StoreError.self) { _ = try Database.open(path: "\(folder.path)/missing/state.sqlite") }
    }
}
