import CPushmillZlib
import Glibc

/// Writes a file that appears, or replaces the one before, when it is complete; compressed by gzip if its name ends in
/// `.gz`. What is not closed leaves nothing behind.
package struct OutputFile: ~Copyable {
    package let path: String
    /// What is written meanwhile. A device or a pipe is written at once.
    private let partial: String
    private var handle: gzFile?

    package init(path: String) throws(FileFailure) {
        self.path = path
        var status = stat()
        let isSpecial = stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        partial = isSpecial ? path : "\(path).partial"
        // What is captured and reported is its owner's alone to read: there are texts and tokens in it. What an earlier
        // process has left under the name may have another mode, or lead elsewhere.
        if !isSpecial { unlink(partial) }
        let flags = isSpecial ? O_TRUNC : O_CREAT | O_EXCL | O_NOFOLLOW
        let descriptor = open(partial, O_WRONLY | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { throw FileFailure(path: path, errno) }
        // T writes without compression.
        handle = gzdopen(descriptor, path.hasSuffix(".gz") ? "wb6" : "wbT")
        guard let handle else {
            Glibc.close(descriptor)
            throw FileFailure(path: path, ENOMEM)
        }
        gzbuffer(handle, 256 << 10)
    }

    deinit {
        guard let handle else { return }
        gzclose_w(handle)
        if partial != path { unlink(partial) }
    }

    package func write(_ bytes: borrowing [UInt8]) throws(FileFailure) {
        guard !bytes.isEmpty else { return }
        let count = bytes.withUnsafeBytes { gzwrite(handle, $0.baseAddress, UInt32(clamping: $0.count)) }
        guard Int(count) == bytes.count else { throw failure }
    }

    package consuming func close() throws(FileFailure) {
        let written = gzclose_w(handle.take())
        guard written == Z_OK, partial == path || rename(partial, path) == 0 else {
            let failure = FileFailure(path: path, errno)
            if partial != path { unlink(partial) }
            throw failure
        }
    }

    private var failure: FileFailure {
        var code: Int32 = 0
        let text = gzerror(handle, &code).map { String(cString: $0) } ?? ""
        return code == Z_ERRNO ? FileFailure(path: path, errno) : FileFailure(path: path, what: text)
    }
}
