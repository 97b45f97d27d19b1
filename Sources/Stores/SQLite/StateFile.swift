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
    /// Where the file that was there before is now, and why.
    package let setAside: (path: String, reason: String)?
    private let lock: FileLock?

    /// Creates the file, or brings an older one up to date. `isCopy`: what it holds stands elsewhere too, so that one which is
    /// damaged or too new is set aside and begun anew.
    package init(path: String, access: Access, isCopy: Bool = false) throws(StoreError) {
        self.path = path
        self.lock = access == .alone ? try FileLock(for: path) : nil
        do throws(StoreError) {
            try Schema.prepare(try Database.open(path: path))
            setAside = nil
        } catch let error where isCopy && error.isDamage {
            setAside = (try AsideFile.move(path), "\(error)")
            try Schema.prepare(try Database.open(path: path))
        }
    }

    package func connect() throws(StoreError) -> Database { try Database.open(path: path) }
}
