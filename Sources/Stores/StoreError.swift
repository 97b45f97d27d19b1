/// What can go wrong with what must survive.
package enum StoreError: Error, Equatable {
    /// SQLite refused; `sql` is the statement, or what was attempted where there is none.
    case sqlite(path: String, code: Int32, message: String, sql: String)
    /// Another process holds the file.
    case inUse(path: String)
    /// The system refused to open or lock a file.
    case unopened(path: String, message: String)
    /// A newer version wrote the file.
    case newerSchema(path: String, found: Int, known: Int)
    /// A file of lines that we were given, not written by us.
    case unreadableLine(path: String, line: Int, what: String)
    /// What the file holds is not what was written there.
    case damaged(path: String, what: String)
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sqlite(let path, let code, let message, let sql): "\(path): \(message) (SQLite \(code)) at: \(sql)"
        case .inUse(let path): "\(path): in use by another process; stop it first"
        case .unopened(let path, let message): "\(path): \(message)"
        case .newerSchema(let path, let found, let known):
            "\(path): written by a newer release (schema \(found), this one reads up to \(known + 1)): use that release, or the "
                + "one before it"
        case .unreadableLine(let path, let line, let what): "\(path):\(line): \(what)"
        case .damaged(let path, let what): "\(path): damaged: \(what)"
        }
    }
}
