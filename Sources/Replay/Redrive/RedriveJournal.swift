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
    /// The file ends with half a line, which says nothing.
    private var hasHalfLine = false
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
        var unreadable: (number: Int, bytes: [UInt8])?
        while let line = try lines.next() {
            if let unreadable { throw notALetter(unreadable.number) }
            if try !read(line) { unreadable = line }
        }
        guard let unreadable else { return }
        // A disk that was full may have left the beginning of the last line.
        let isBeginning = unreadable.bytes.allSatisfy { (0x20...0x7E).contains($0) }
        guard isBeginning, try !endsLine() else { throw notALetter(unreadable.number) }
        hasHalfLine = true
    }

    /// False if it is not a letter's line.
    private func read(_ line: CaptureLines.Line) throws(ReplayError) -> Bool {
        let text = String(decoding: line.bytes, as: UTF8.self)
        // What was sent is not known to be, and would be sent again.
        if text.hasPrefix(Self.heading) {
            guard let version = Int(text.dropFirst(Self.heading.count)), (1...Self.newest).contains(version) else {
                throw .unreadable(
                    name: path, line: line.number,
                    what: "written by a newer release: this one reads up to version \(Self.newest)")
            }
            return true
        }
        let words = text.split { $0 == " " || $0 == "\r" }
        guard words.count >= 2, Int64(words[1]) != nil else { return false }
        let place = words[0].split(separator: "/")
        guard place.count == 3, Int32(place[1]) != nil, Int64(place[2]) != nil else { return false }
        known.insert("\(words[0]) \(words[1])")
        return true
    }

    private func notALetter(_ line: Int) -> ReplayError {
        .unreadable(
            name: path, line: line,
            what: "not a letter that was sent: the file is no journal, or damaged; without it all would be sent again")
    }

    private func endsLine() throws(ReplayError) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(FileFailure(path: path, errno)) }
        defer { close(descriptor) }
        var last: UInt8 = 0
        return pread(descriptor, &last, 1, lseek(descriptor, 0, SEEK_END) - 1) == 1 && last == UInt8(ascii: "\n")
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
            guard endLastLine() else { throw failure }
        }
        let isWritten = waiting.withUnsafeBytes { writeAll($0, to: descriptor) }
        guard isWritten, fdatasync(descriptor) == 0 else { throw failure }
        waiting.removeAll()
    }

    /// The next line would be taken for the end of one without a line feed; half a line is dropped.
    private func endLastLine() -> Bool {
        var length = lseek(descriptor, 0, SEEK_END)
        var last: UInt8 = 0
        while length > 0 {
            guard pread(descriptor, &last, 1, length - 1) == 1 else { return false }
            if last == UInt8(ascii: "\n") { break }
            guard hasHalfLine else {
                waiting.insert(UInt8(ascii: "\n"), at: 0)
                return true
            }
            length -= 1
        }
        return !hasHalfLine || ftruncate(descriptor, length) == 0
    }

    private var failure: ReplayError {
        let reason = String(cString: strerror(errno))
        let what = "\(reason): the last letters sent are not recorded, and the next run sends them again"
        return .unwritten(FileFailure(path: path, what: what))
    }

    private static func line(_ letter: RecordEnvelope) -> String { "\(letter.place) \(letter.timestamp)" }
}
