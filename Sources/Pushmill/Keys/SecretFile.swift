import Glibc

/// A file that only its owner may read, replaced as a whole: a process that reads it meanwhile sees the
/// old one or the new one.
struct SecretFile {
    /// Where the file really is, also when a link leads there.
    private let path: String

    init(path: String) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
    }

    func write(_ bytes: [UInt8]) throws(ProgramError) {
        // Made for its owner's eyes only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure("made") }
        let isWritten = fill(descriptor, bytes) && keepOwner(descriptor)
        guard isWritten, rename(template, path) == 0 else {
            let failure = failure("written")
            close(descriptor)
            unlink(template)
            throw failure
        }
        close(descriptor)
    }

    private func fill(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0
    }

    /// The service may run as somebody else than who adds a key for it.
    private func keepOwner(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid != geteuid() else { return true }
        return fchown(descriptor, status.st_uid, status.st_gid) == 0
    }

    private func failure(_ what: String) -> ProgramError {
        .internalFailure("\(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
