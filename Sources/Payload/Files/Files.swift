import CPushmillZlib
import Glibc

/// Reads a file from its beginning, or the standard input (`-`) from where it stands, plain or compressed by gzip: its
/// first bytes tell.
package final class InputFile {
    private static let pieceSize = 256 << 10

    package let path: String
    private let descriptor: Int32
    private let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: pieceSize)
    /// Knows what of the buffer is still to be given, and inflates what is compressed.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isCompressed: Bool?
    /// It may end here. Several that are compressed may stand in one file.
    private var isWhole = true

    /// Whether a path names the standard input.
    package static func isStandardInput(_ path: String) -> Bool { path == "-" || path == "/dev/stdin" }

    package convenience init(path: String) throws(FileFailure) {
        if Self.isStandardInput(path) {
            // By its name it would be opened anew: a file from its beginning, a socket or another user's pipe not at all.
            try self.init(path: "/dev/stdin", opened: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))
        } else {
            try self.init(path: path, opened: open(path, O_RDONLY | O_CLOEXEC))
        }
    }

    /// Closes the descriptor in the end. Where it is none the reason is in `errno`.
    init(path: String, opened descriptor: Int32) throws(FileFailure) {
        let error = errno
        self.path = path
        self.descriptor = descriptor
        stream.initialize(to: z_stream())
        guard descriptor >= 0 else { throw FileFailure(path: path, error) }
        // 16: with gzip's header.
        let code = inflateInit2_(stream, 16 + 15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw FileFailure(path: path, ENOMEM) }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
        if descriptor >= 0 { close(descriptor) }
    }

    /// What comes next in the file; nothing at its end.
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

    /// All that is left, without a byte order mark; refused where it is more than `limit` bytes.
    package func rest(limit: Int) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while case let piece = try next(), !piece.isEmpty {
            bytes += piece
            guard bytes.count <= limit else { throw FileFailure(path: path, EFBIG) }
        }
        return bytes.starts(with: ByteOrderMark.bytes) ? Array(bytes.dropFirst(ByteOrderMark.bytes.count)) : bytes
    }

    /// Reads on, behind a first byte that tells too little; false at the end. zlib itself would end where another process
    /// has asked not to wait.
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

/// What editors of other systems begin a file of UTF-8 with. Nobody sees it, and JSON may not begin with it.
enum ByteOrderMark {
    static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]
}

/// Lines out of bytes that come in pieces, the first without a byte order mark.
package struct LineReader {
    /// Of the line that was given last, from 1.
    package private(set) var number = 0
    /// What has come and was not given yet.
    private var rest: ArraySlice<UInt8> = []
    private var isOver = false

    package init() {}

    /// The next line, without its end; nil where there is none. `more` gives the next piece, nothing at the end; it is told
    /// how long the line is already.
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

/// Writes all of it; false where the system does not take it, for which `errno` has the reason.
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

/// Whether a call that has failed is to be made again. Another process with the same pipe or terminal may have asked not to
/// wait at it: then this waits.
package func mayGoOn(_ descriptor: Int32, _ events: Int32) -> Bool {
    if errno == EINTR { return true }
    guard errno == EAGAIN else { return false }
    var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    poll(&ready, 1, -1)
    return true
}

/// Holds a file's folder, until this descriptor of it is closed, for who reads what is there and replaces it: of two
/// that do so at once the second waits. Not every file system has locks, nor may everybody read the folder, which gives
/// -1: there two may disturb each other. Who holds it for longer than `patience` is none of them, such as `flock` around
/// this very process.
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

/// Writes a file that appears, or replaces the one before, when it is complete; compressed by gzip if its name ends in
/// `.gz`. What is not closed leaves nothing behind.
package struct OutputFile: ~Copyable {
    package let path: String
    /// Where it is in the end: a link to a file stays one, and the file is replaced. A dangling one is replaced.
    private let target: String
    /// What is written meanwhile; nil for a device or a pipe, which is written at once.
    private let partial: String?
    private var handle: gzFile?
    /// Holds what is written meanwhile as this process's, until it has its name.
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

    /// What is captured and reported is its owner's alone to read: there are texts and tokens in it. What an earlier process
    /// has left under the name may have another mode, or lead elsewhere: it goes. What another one is writing stays: who
    /// looks for that, and begins, holds the folder meanwhile.
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
        // What is not on the disk yet would be lost with the power, and what was there before with it. Not everything that
        // is written is a disk's.
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
