import CPushmillZlib
import Glibc

/// Reads a file from its beginning, plain or compressed by gzip: its first bytes tell.
package struct InputFile: ~Copyable {
    package let path: String
    private let handle: gzFile

    package init(path: String) throws(FileFailure) {
        self.path = path
        guard let handle = gzopen(path, "rb") else { throw FileFailure(path: path, errno) }
        gzbuffer(handle, 256 << 10)
        self.handle = handle
    }

    deinit { gzclose_r(handle) }

    /// Fills the buffer as far as the file goes on; gives the number of bytes, 0 at its end.
    package func read(into buffer: UnsafeMutableBufferPointer<UInt8>) throws(FileFailure) -> Int {
        let count = gzread(handle, buffer.baseAddress, UInt32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        var code: Int32 = 0
        let text = gzerror(handle, &code).map { String(cString: $0) } ?? ""
        switch code {
        case Z_OK, Z_STREAM_END: return 0
        case Z_ERRNO: throw FileFailure(path: path, errno)
        case Z_BUF_ERROR: throw FileFailure(path: path, what: "the compressed data ends too early")
        default: throw FileFailure(path: path, what: "the compressed data is damaged: \(text)")
        }
    }
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
