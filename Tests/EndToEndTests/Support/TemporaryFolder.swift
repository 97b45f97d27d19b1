import Glibc
import Synchronization

/// A folder of a test's own, removed with the value.
final class TemporaryFolder: Sendable {
    let path: String
    private let files = Mutex<[String]>([])

    init() throws {
        var template = Array("/tmp/pushmill-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for file in files.withLock({ $0 }) { unlink(file) }
        rmdir(path)
    }

    /// The path of a database to be, which goes with the folder.
    func database(_ name: String) -> String {
        let file = "\(path)/\(name)"
        files.withLock { $0 += ["", "-wal", "-shm", ".lock"].map { file + $0 } }
        return file
    }

    /// The path of a new file with this text.
    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file, "w") else { throw SystemFailure(errno) }
        fputs(text, stream)
        guard fclose(stream) == 0 else { throw SystemFailure(errno) }
        files.withLock { $0.append(file) }
        return file
    }
}

struct SystemFailure: Error {
    let code: Int32

    init(_ code: Int32) { self.code = code }
}
