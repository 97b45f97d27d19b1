import Glibc
import PushmillPayload
import PushmillStores

/// The letters that were sent back and acknowledged: a file that only grows. A line is `topic/partition/offset` and the
/// letter's timestamp, which tells a recreated topic from the one before. Version 2 begins with the line
/// `#redrive-journal 2`, and its lines may have more words, which are ignored here.
final class RedriveJournal {
    private static let heading = "#redrive-journal "
    /// The newest version that can be read; version 1, which has no heading, is written.
    private static let newest = 2

    private let path: String
    private var known: Set<String> = []
    private var waiting: [UInt8] = []
    private var descriptor: Int32 = -1
    /// Two redrives at the same time would send each letter twice.
    private let lock: FileLock?

    /// Creates only its lock until there is something to record.
    init(path: String, isDry: Bool) throws(ReplayError) {
        self.path = path
        lock = isDry ? nil : try indexed { () throws(StoreError) in try FileLock(for: path) }
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .file(FileFailure(path: path, errno))
        }
        // Reading a pipe would wait for its writer.
        guard status.st_mode & S_IFMT == S_IFREG else { throw .file(FileFailure(path: path, what: "not a file")) }
        var lines = try CaptureLines(path: path)
        while let line = try lines.next() {
            let text = String(decoding: line.bytes, as: UTF8.self)
            guard text.hasPrefix(Self.heading) else {
                known.insert(text.split(separator: " ").prefix(2).joined(separator: " "))
                continue
            }
            // Nothing of what it has sent would be known, and all of it would be sent again.
            guard let version = Int(text.dropFirst(Self.heading.count)), (1...Self.newest).contains(version) else {
                throw .unreadable(
                    name: path, line: line.number,
                    what: "written by a newer release: this one reads up to version \(Self.newest)")
            }
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func contains(_ letter: RecordEnvelope) -> Bool { known.contains(Self.line(letter)) }

    func add(_ letter: RecordEnvelope) {
        let line = Self.line(letter)
        known.insert(line)
        waiting += Array("\(line)\n".utf8)
    }

    /// When it returns, everything added is on the disk.
    func flush() throws(ReplayError) {
        guard !waiting.isEmpty else { return }
        if descriptor < 0 {
            descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure }
            // A disk that was full may have left part of a line; the next line would be taken for its end.
            var last = UInt8(ascii: "\n")
            let length = lseek(descriptor, 0, SEEK_END)
            if length > 0, pread(descriptor, &last, 1, length - 1) != 1 { throw failure }
            if last != UInt8(ascii: "\n") { waiting.insert(UInt8(ascii: "\n"), at: 0) }
        }
        let isWritten = waiting.withUnsafeBytes { writeAll($0, to: descriptor) }
        guard isWritten, fdatasync(descriptor) == 0 else { throw failure }
        waiting.removeAll()
    }

    private var failure: ReplayError {
        let reason = String(cString: strerror(errno))
        let what = "\(reason): the last letters sent are not recorded, and the next run sends them again"
        return .unwritten(FileFailure(path: path, what: what))
    }

    private static func line(_ letter: RecordEnvelope) -> String { "\(letter.place) \(letter.timestamp)" }
}
