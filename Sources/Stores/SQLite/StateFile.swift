/// The embedded state of one service: contacts, badge counts, positions. Lends connections to those who keep them.
///
/// Counts and positions live in the memory of the process that runs the service, so that only the holder of the lock
/// may change them. Reading anything, and changing contacts, is safe beside it.
package final class StateFile: Sendable {
    package enum Access: Sendable {
        /// Only this process changes counts and positions; throws `inUse` where another does.
        case alone
        case shared
    }

    package let path: String
    private let lock: FileLock?

    /// Creates the file, or brings an older one up to date.
    package init(path: String, access: Access) throws(StoreError) {
        self.path = path
        self.lock = access == .alone ? try FileLock(for: path) : nil
        try Schema.prepare(try Database.open(path: path))
    }

    package func connect() throws(StoreError) -> Database { try Database.open(path: path) }
}
