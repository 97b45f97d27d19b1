import Glibc
import PushmillKafka
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
    private let isDry: Bool
    /// What a run has left that ended before it could record what it sent.
    private(set) var left: RedriveIntents?
    private var known: Set<String> = []
    private var waiting: [UInt8] = []
    private var descriptor: Int32 = -1
    /// The bytes of half a line at the end of the file, which say nothing.
    private var halfLine = 0
    /// The last line is whole, but lacks its end: the next one would be taken for a part of it.
    private var lacksEnd = false
    /// Two redrives at the same time would send each letter twice.
    private let lock: FileLock?

    /// Creates only its lock until letters are about to be sent.
    init(path: String, isDry: Bool) throws(ReplayError) {
        self.path = path
        self.isDry = isDry
        lock = isDry ? nil : try indexed { () throws(StoreError) in try FileLock(for: path) }
        left = try RedriveIntents(path: intentsPath)
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .file(FileFailure(path: path, errno))
        }
        // Reading a pipe would wait for its writer.
        guard status.st_mode & S_IFMT == S_IFREG else { throw .file(FileFailure(path: path, what: "not a file")) }
        let bytes = try filed { () throws(FileFailure) in try FileBytes(path: path, limit: .max).bytes }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let isLast = index == lines.count - 1
            if try read(line, index + 1) {
                lacksEnd = isLast && !line.isEmpty
            } else if isLast, line.allSatisfy({ (0x20...0x7E).contains($0) }) {
                // A disk that was full may have left the beginning of the last line.
                halfLine = line.count
            } else {
                throw .unreadable(
                    name: path, line: index + 1,
                    what: "not a letter that was sent: the file is no journal, or damaged; "
                        + "without it all would be sent again")
            }
        }
    }

    /// False if it is neither a letter's line nor blank.
    private func read(_ line: ArraySlice<UInt8>, _ number: Int) throws(ReplayError) -> Bool {
        let text = String(decoding: line, as: UTF8.self)
        // What was sent is not known to be, and would be sent again.
        if text.hasPrefix(Self.heading) {
            guard let version = Int(text.dropFirst(Self.heading.count)), (1...Self.newest).contains(version) else {
                throw .unreadable(
                    name: path, line: number,
                    what: "written by a newer release: this one reads up to version \(Self.newest)")
            }
            return true
        }
        let words = text.split { " \t\r".contains($0) }
        if words.isEmpty { return true }
        guard words.count >= 2, Int64(words[1]) != nil, OutputPlace(words[0]) != nil else { return false }
        known.insert("\(words[0]) \(words[1])")
        return true
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func contains(_ letter: RecordEnvelope) -> Bool { known.contains(Self.line(letter)) }

    func add(_ letter: RecordEnvelope) { add([Self.line(letter)]) }

    private func add(_ lines: [String]) {
        for line in lines where known.insert(line).inserted { waiting += Array("\(line)\n".utf8) }
    }

    private var intentsPath: String { "\(path).sending" }

    /// When it returns, the next run will find out which of these letters were sent, unless `settle` is called.
    func begin(_ letters: [DeadLetter], ends: [Position]) throws(ReplayError) {
        guard open() else { throw failure("no letter is sent") }
        try RedriveIntents(letters, ends: ends).write(to: intentsPath)
    }

    /// It is known, and on the disk, which letters were sent.
    func settle() { unlink(intentsPath) }

    /// Adds the letters that the earlier run has sent. `stored` is what redrives have stored in the input since.
    func resolve(_ stored: [String: Int]) throws(ReplayError) {
        add(left?.sent(stored, isKnown: known.contains) ?? [])
        left = nil
        if isDry { return }
        try flush()
        settle()
    }

    /// When it returns, everything added is on the disk.
    func flush() throws(ReplayError) {
        guard !waiting.isEmpty else { return }
        let isWritten = open() && waiting.withUnsafeBytes { writeAll($0, to: descriptor) }
        guard isWritten, fdatasync(descriptor) == 0 else {
            throw failure("the last letters sent are not recorded; the next run looks for them in the input")
        }
        waiting.removeAll()
    }

    /// True if the file can be written, from its last whole line on.
    private func open() -> Bool {
        if descriptor >= 0 { return true }
        descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        if lacksEnd { waiting.insert(UInt8(ascii: "\n"), at: 0) }
        return halfLine == 0 || ftruncate(descriptor, lseek(descriptor, 0, SEEK_END) - halfLine) == 0
    }

    private func failure(_ consequence: String) -> ReplayError {
        .unwritten(FileFailure(path: path, what: "\(String(cString: strerror(errno))): \(consequence)"))
    }

    static func line(_ letter: RecordEnvelope) -> String { "\(letter.place) \(letter.timestamp)" }
}
