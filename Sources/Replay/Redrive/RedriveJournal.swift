import Glibc
import PushmillPayload
import PushmillStores

/// Which letters have been sent back and acknowledged: a file that only grows. A line is `topic/partition/offset` and the
/// letter's timestamp, by which a topic that was made anew is told from the one before. The next version begins with the line
/// `#redrive-journal 2`, and its lines may have more words, which are passed over here.
final class RedriveJournal {
    private static let heading = "#redrive-journal "
    /// The newest version that is read; the first, which has no heading, is written.
    private static let newest = 2

    private let path: String
    private var known: Set<String> = []
    private var waiting: [UInt8] = []
    private var descriptor: Int32 = -1
    /// Two that send beside each other would send each letter twice.
    private let lock: FileLock?

    /// Creates nothing but its lock before there is something to remember.
    init(path: String, isDry: Bool) throws(ReplayError) {
        self.path = path
        lock = isDry ? nil : try indexed { () throws(StoreError) in try FileLock(for: path) }
        guard access(path, F_OK) == 0 else {
            if errno == ENOENT { return }
            throw .file(FileFailure(path: path, errno))
        }
        var lines = try CaptureLines(path: path)
        while let line = try lines.next() {
            let text = String(decoding: line.bytes, as: UTF8.self)
            guard text.hasPrefix(Self.heading) else {
                known.insert(text.split(separator: " ").prefix(2).joined(separator: " "))
                continue
            }
            // Of what it has sent nothing would be known, and all of it sent again.
            guard let version = Int(text.dropFirst(Self.heading.count)), (1...Self.newest).contains(version) else {
                throw .unreadable(
                    name: path, line: line.number,
                    what: "a journal of a newer release: this one reads up to version \(Self.newest)")
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

    /// What was added is on the disk when it returns.
    func flush() throws(ReplayError) {
        guard !waiting.isEmpty else { return }
        if descriptor < 0 {
            descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure }
            // A disk that was full has left a part of a line: what follows would be taken for its end.
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
        let what = "\(reason): what was sent last is not remembered, and the next run sends it again"
        return .unwritten(FileFailure(path: path, what: what))
    }

    private static func line(_ letter: RecordEnvelope) -> String { "\(letter.place) \(letter.timestamp)" }
}
