import Glibc

/// A SQLite file that is of no use here, set aside for an operator to look at, with the log that belongs to it.
enum AsideFile {
    /// How many are kept of one file.
    static let kept = 2

    /// Gives where it is now.
    static func move(_ path: String) throws(StoreError) -> String {
        for number in (1..<kept).reversed() { try move(aside(path, number), to: aside(path, number + 1)) }
        try move(path, to: aside(path, 1))
        return aside(path, 1)
    }

    /// All that SQLite has of it.
    static func remove(_ path: String) throws(StoreError) {
        for suffix in ["", "-wal", "-shm"] {
            guard unlink(path + suffix) == 0 || errno == ENOENT else { throw failure(path + suffix) }
        }
    }

    private static func aside(_ path: String, _ number: Int) -> String { "\(path).aside-\(number)" }

    private static func move(_ path: String, to other: String) throws(StoreError) {
        try remove(other)
        guard rename(path, other) == 0 || errno == ENOENT else { throw failure(path) }
        guard rename("\(path)-wal", "\(other)-wal") == 0 || errno == ENOENT else { throw failure(path) }
    }

    private static func failure(_ path: String) -> StoreError {
        .unopened(path: path, message: String(cString: strerror(errno)))
    }
}
