import CPushmillSQLite

/// A prepared statement, made once and used again and again by the thread of its connection.
package struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let path: String

    init(_ handle: OpaquePointer, path: String) {
        self.handle = handle
        self.path = path
    }

    deinit { sqlite3_finalize(handle) }

    /// Arguments are numbered from 1 and stay until they are bound anew. The bytes are copied.
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

    /// NULL.
    func bindNothing(_ index: Int32) throws(StoreError) { try check(sqlite3_bind_null(handle, index)) }

    /// Goes to the next row; false at the end, where the statement is ready to be run again.
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

    /// Runs it to its end; rows are dropped.
    package func run() throws(StoreError) {
        while try step() {}
    }

    /// Gives up the rows that are left.
    package func reset() { sqlite3_reset(handle) }

    /// The columns of the row that `step` went to, numbered from 0.
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func text(_ column: Int32) -> String {
        sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
    }

    /// The bytes are good until the next step or reset.
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
