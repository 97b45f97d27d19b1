import CPushmillZlib
import Glibc

/// Reads a file from its beginning, plain or compressed by gzip: its first bytes tell.
package final class InputFile {
    private static let pieceSize = 256 << 10

    package let path: String
    private let handle: gzFile

    package init(path: String) throws(FileFailure) {
        self.path = path
        guard let handle = gzopen(path, "rb") else { throw FileFailure(path: path, errno) }
        gzbuffer(handle, UInt32(Self.pieceSize))
        self.handle = handle
    }

    deinit { gzclose_r(handle) }

    /// What comes next in the file; nothing at its end.
    package func next() throws(FileFailure) -> [UInt8] {
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            count = Int(max(0, gzread(handle, buffer.baseAddress, UInt32(buffer.count))))
        }
        guard piece.isEmpty else { return piece }
        var code: Int32 = 0
        let text = gzerror(handle, &code).map { String(cString: $0) } ?? ""
        switch code {
        case Z_OK, Z_STREAM_END: return []
        case Z_ERRNO: throw FileFailure(path: path, errno)
        case Z_BUF_ERROR: throw FileFailure(path: path, what: "the compressed data ends too early")
        default: throw FileFailure(path: path, what: "the compressed data is damaged: \(text)")
        }
    }
}

/// Lines out of bytes that come in pieces.
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
                return rest[..<end]
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
        return rest
    }
}

/// Writes all of it; false where the system does not take it, for which `errno` has the reason.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
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
