import Glibc

/// An advisory lock that one process at a time can hold. The system gives it back when the process ends, however it
/// ends; the file stays.
///
/// SQLite's own locks sit on the database file and would be lost if anyone here opened and closed that too, so this is
/// a file beside it.
struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Throws `inUse` at once where another process holds it.
    init(for path: String) throws(StoreError) {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unopened(path: path, message: String(cString: strerror(errno))) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let failure = errno
            if failure == EINTR { continue }
            close(descriptor)
            throw failure == EWOULDBLOCK
                ? .inUse(path: path) : .unopened(path: path, message: String(cString: strerror(failure)))
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
