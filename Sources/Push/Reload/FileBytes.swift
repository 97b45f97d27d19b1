import Glibc

/// A file that was read at once, with its permissions.
package struct FileBytes: Sendable {
    package let bytes: [UInt8]
    /// Anyone but the owner may read it.
    package let isReadableByOthers: Bool

    /// Refuses what is larger than `limit` bytes, which no configuration file of ours is.
    package init(path: String, limit: Int = 256 << 20) throws(FileUnreadable) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileUnreadable(path: path, errorNumber: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileUnreadable(path: path, errorNumber: errno) }
        isReadableByOthers = status.st_mode & (S_IRGRP | S_IROTH) != 0
        var all: [UInt8] = []
        all.reserveCapacity(min(max(Int(status.st_size), 0), limit))
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileUnreadable(path: path, errorNumber: errno)
            }
            all += chunk[..<count]
            guard all.count <= limit else { throw FileUnreadable(path: path, errorNumber: EFBIG) }
        }
        bytes = all
    }
}

package struct FileUnreadable: Error, CustomStringConvertible {
    package let path: String
    package let errorNumber: Int32

    package var description: String { "cannot read \(path): \(String(cString: strerror(errorNumber)))" }
}
