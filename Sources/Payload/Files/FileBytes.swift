import Glibc

/// A file read as a whole, without its byte order mark.
package struct FileBytes: Sendable {
    package private(set) var bytes: [UInt8]
    /// True if anyone may read it, or a group that this process is not in: containers get secrets by their own group.
    package let isReadableByOthers: Bool

    /// Refuses files larger than `limit` bytes, which no configuration file is.
    package init(path: String, limit: Int = 256 << 20) throws(FileFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure(path: path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure(path: path, errno) }
        isReadableByOthers =
            status.st_mode & S_IROTH != 0 || status.st_mode & S_IRGRP != 0 && !Self.isOwnGroup(status.st_gid)
        var all: [UInt8] = []
        all.reserveCapacity(min(max(Int(status.st_size), 0), limit))
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        // The chunk may have held a secret.
        defer { chunk.wipe() }
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileFailure(path: path, errno)
            }
            let isMarked = all.isEmpty && chunk[..<count].starts(with: ByteOrderMark.bytes)
            all.appendWiping(chunk[(isMarked ? ByteOrderMark.bytes.count : 0)..<count])
            guard all.count <= limit else { throw FileFailure(path: path, EFBIG) }
        }
        bytes = all
    }

    /// Overwrites the bytes of a file with secrets.
    package mutating func wipe() { bytes.wipe() }

    private static func isOwnGroup(_ group: gid_t) -> Bool {
        if group == getegid() { return true }
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(max(0, Int(count))).contains(group)
    }
}

extension [UInt8] {
    /// Overwrites the bytes, unless another array shares them.
    package mutating func wipe() {
        withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        }
    }

    /// Appends; if that needs larger memory, wipes the old one.
    mutating func appendWiping(_ more: ArraySlice<UInt8>) {
        if capacity < count + more.count {
            var larger: [UInt8] = []
            larger.reserveCapacity(Swift.max(count + more.count, capacity * 2))
            larger += self
            wipe()
            self = larger
        }
        self += more
    }
}
