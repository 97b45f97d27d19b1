import CPushmillZlib
import Glibc

/// Reads a file from its beginning, or the standard input (`-`) from its current position. The first bytes tell whether
/// it is plain or compressed by gzip.
package final class InputFile {
    private static let pieceSize = 256 << 10

    package let path: String
    private let descriptor: Int32
    private let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: pieceSize)
    /// Tracks the unread part of the buffer and inflates compressed input.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isCompressed: Bool?
    /// The input may end here. A file may hold several compressed streams in a row.
    private var isWhole = true

    package static func isStandardInput(_ path: String) -> Bool { path == "-" || path == "/dev/stdin" }

    package convenience init(path: String) throws(FileFailure) {
        if Self.isStandardInput(path) {
            // Opening it by name would start a file from its beginning, and fail for a socket or another user's pipe.
            try self.init(path: "/dev/stdin", opened: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))
        } else {
            try self.init(path: path, opened: open(path, O_RDONLY | O_CLOEXEC))
        }
    }

    /// Takes ownership of the descriptor. If that is negative, `errno` must hold the reason.
    init(path: String, opened descriptor: Int32) throws(FileFailure) {
        let error = errno
        self.path = path
        self.descriptor = descriptor
        stream.initialize(to: z_stream())
        guard descriptor >= 0 else { throw FileFailure(path: path, error) }
        // 16 stands for gzip's header.
        let code = inflateInit2_(stream, 16 + 15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw FileFailure(path: path, ENOMEM) }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
        if descriptor >= 0 { close(descriptor) }
    }

    /// The next piece of the file; empty at the end.
    package func next() throws(FileFailure) -> [UInt8] {
        if isCompressed == nil {
            while stream.pointee.avail_in < 2, try fill() {}
            isCompressed = stream.pointee.avail_in > 1 && buffer[0] == 0x1F && buffer[1] == 0x8B
        }
        guard isCompressed == true else {
            if stream.pointee.avail_in == 0 { _ = try fill() }
            defer { stream.pointee.avail_in = 0 }
            return Array(UnsafeBufferPointer(start: buffer, count: Int(stream.pointee.avail_in)))
        }
        var piece: [UInt8] = []
        while piece.isEmpty {
            if stream.pointee.avail_in == 0, try !fill() {
                guard isWhole else { throw FileFailure(path: path, what: "the compressed data ends too early") }
                break
            }
            piece = try inflated()
        }
        return piece
    }

    /// All that is left, without a byte order mark; throws if it is more than `limit` bytes.
    package func rest(limit: Int) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while case let piece = try next(), !piece.isEmpty {
            bytes += piece
            guard bytes.count <= limit else { throw FileFailure(path: path, EFBIG) }
        }
        return bytes.starts(with: ByteOrderMark.bytes) ? Array(bytes.dropFirst(ByteOrderMark.bytes.count)) : bytes
    }

    /// Reads more, after a first byte that is too little to tell the format; false at the end. zlib's own reading would
    /// end if another process has made the input non-blocking.
    private func fill() throws(FileFailure) -> Bool {
        let left = Int(stream.pointee.avail_in)
        var count = 0
        repeat {
            count = read(descriptor, buffer + left, Self.pieceSize - left)
        } while count < 0 && mayGoOn(descriptor, POLLIN)
        guard count >= 0 else { throw FileFailure(path: path, errno) }
        stream.pointee.next_in = buffer
        stream.pointee.avail_in = UInt32(left + count)
        return count > 0
    }

    private func inflated() throws(FileFailure) -> [UInt8] {
        var code = Z_OK
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { output, count in
            stream.pointee.next_out = output.baseAddress
            stream.pointee.avail_out = UInt32(output.count)
            code = inflate(stream, Z_NO_FLUSH)
            count = output.count - Int(stream.pointee.avail_out)
        }
        guard code == Z_OK || code == Z_STREAM_END else {
            let text = stream.pointee.msg.map { String(cString: $0) } ?? ""
            throw FileFailure(path: path, what: "the compressed data is damaged: \(text)")
        }
        isWhole = code == Z_STREAM_END
        if isWhole { inflateReset(stream) }
        return piece
    }
}

/// Editors of other systems put this at the start of a UTF-8 file. It is invisible, and JSON may not begin with it.
enum ByteOrderMark {
    static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]
}

/// Splits bytes that arrive in pieces into lines. Removes a byte order mark from the first.
package struct LineReader {
    /// The number of the line returned last, from 1.
    package private(set) var number = 0
    /// Bytes received but not returned yet.
    private var rest: ArraySlice<UInt8> = []
    private var isOver = false

    package init() {}

    /// The next line, without its end; nil if there is none. `more` takes the length of the line so far and returns the
    /// next piece, empty at the end.
    package mutating func next<E: Error>(
        _ more: (_ count: Int) throws(E) -> [UInt8]
    ) throws(E) -> ArraySlice<UInt8>? {
        var searched = rest.startIndex
        while true {
            if let end = rest[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                number += 1
                defer { rest = rest[(end + 1)...] }
                return unmarked(rest[..<end])
            }
            guard !isOver else { break }
            let piece = try more(rest.count)
            isOver = piece.isEmpty
            rest += piece
            searched = rest.endIndex - piece.count
        }
        guard !rest.isEmpty else { return nil }
        number += 1
        defer { rest = [] }
        return unmarked(rest)
    }

    private func unmarked(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard number == 1, line.starts(with: ByteOrderMark.bytes) else { return line }
        return line.dropFirst(ByteOrderMark.bytes.count)
    }
}

/// Writes all bytes; false if the system refuses them, with the reason in `errno`.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, mayGoOn(descriptor, POLLOUT) { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

/// Whether a failed call should be retried. Another process may have made the shared pipe or terminal non-blocking:
/// then this function waits until it is ready.
package func mayGoOn(_ descriptor: Int32, _ events: Int32) -> Bool {
    if errno == EINTR { return true }
    guard errno == EAGAIN else { return false }
    var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    poll(&ready, 1, -1)
    return true
}

/// Locks a file's folder for a process that reads and then replaces the file: a second such process waits. The caller
/// closes the descriptor to unlock it. There is no lock if the folder cannot be read (-1) or the file system has none:
/// then two processes may disturb each other. Goes on without the lock after `patience`: a holder for that long is no
/// such process, but for example `flock` around this very process.
package func heldFolder(of path: String, patience: Duration = .seconds(10)) -> Int32 {
    let name = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    let end = ContinuousClock.now + patience
    while folder >= 0, flock(folder, LOCK_EX | LOCK_NB) != 0, [EINTR, EWOULDBLOCK].contains(errno),
        ContinuousClock.now < end
    {
        usleep(10_000)
    }
    return folder
}

/// Why a file cannot be read or written.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    package let path: String
    package let what: String

    package init(path: String, what: String) {
        self.path = path
        self.what = what
    }

    package init(path: String, _ number: Int32) { self.init(path: path, what: String(cString: strerror(number))) }

    package var description: String { "\(path): \(what)" }
}

/// Writes a file that appears, or replaces the one before, only when it is complete; compressed by gzip if its name
/// ends in `.gz`. If it is not closed, nothing is left behind.
package struct OutputFile: ~Copyable {
    package let path: String
    /// The final path. A link to a file stays, and the file is replaced; a dangling link is replaced itself.
    private let target: String
    /// The file that is written until then; nil for a device or a pipe, which is written directly.
    private let partial: String?
    private var handle: gzFile?
    /// Locks the partial file for this process until the rename.
    private let lock: Int32

    package init(path: String) throws(FileFailure) {
        var status = stat()
        let isSpecial = stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        let target = Self.real(path)
        let partial = isSpecial ? nil : "\(target).partial"
        let descriptor =
            if let partial { try Self.begin(partial, of: path) } else { open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) }
        guard descriptor >= 0 else { throw FileFailure(path: path, errno) }
        let lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // T writes without compression.
        guard lock >= 0, let handle = gzdopen(descriptor, path.hasSuffix(".gz") ? "wb6" : "wbT") else {
            let failure = FileFailure(path: path, lock < 0 ? errno : ENOMEM)
            if let partial { unlink(partial) }
            for descriptor in [lock, descriptor] where descriptor >= 0 { Glibc.close(descriptor) }
            throw failure
        }
        gzbuffer(handle, 256 << 10)
        self.path = path
        self.target = target
        self.partial = partial
        self.handle = handle
        self.lock = lock
    }

    deinit {
        if let handle {
            gzclose_w(handle)
            if let partial { unlink(partial) }
        }
        Glibc.close(lock)
    }

    private static func real(_ path: String) -> String {
        let real = realpath(path, nil)
        defer { free(real) }
        return real.map { String(cString: $0) } ?? path
    }

    /// Creates the partial file, readable by its owner only: captures and reports hold texts and tokens. One left by an
    /// earlier process may have another mode, or be a link, and is removed; one that another process is writing stays.
    /// The folder is locked meanwhile.
    private static func begin(_ partial: String, of path: String) throws(FileFailure) -> Int32 {
        let folder = heldFolder(of: partial)
        defer { if folder >= 0 { Glibc.close(folder) } }
        let left = open(partial, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard left >= 0 || [ENOENT, ELOOP, ENXIO].contains(errno) else { throw FileFailure(path: path, errno) }
        defer { if left >= 0 { Glibc.close(left) } }
        if left >= 0, flock(left, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            throw FileFailure(path: path, what: "another process is writing it")
        }
        unlink(partial)
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 { _ = flock(descriptor, LOCK_EX | LOCK_NB) }
        return descriptor
    }

    package func write(_ bytes: borrowing [UInt8]) throws(FileFailure) {
        guard !bytes.isEmpty else { return }
        let count = bytes.withUnsafeBytes { gzwrite(handle, $0.baseAddress, UInt32(clamping: $0.count)) }
        guard Int(count) == bytes.count else { throw failure }
    }

    package consuming func close() throws(FileFailure) {
        let written = gzclose_w(handle.take())
        // Without the sync, a power failure could lose both the new contents and the old. Some outputs are not on a
        // disk: their errors are ignored.
        let isStored = written == Z_OK && (fdatasync(lock) == 0 || [EINVAL, EROFS, ENOSYS, ENOTSUP].contains(errno))
        guard isStored, partial.map({ rename($0, target) == 0 }) ?? true else {
            let failure = FileFailure(path: path, errno)
            if let partial { unlink(partial) }
            throw failure
        }
    }

    private var failure: FileFailure {
        var code: Int32 = 0
        let text = gzerror(handle, &code).map { String(cString: $0) } ?? ""
        return code == Z_ERRNO ? FileFailure(path: path, errno) : FileFailure(path: path, what: text)
    }
}
