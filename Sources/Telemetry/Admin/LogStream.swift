/// Lines of the log for one client: the most recent ones, then, if it follows, those to come. Keeps one line of its own
/// and otherwise reads the log's ring, so a slow reader costs nothing; it is told how many lines it has missed. Used on
/// the server's thread only.
package final class LogStream {
    enum Step: Equatable {
        /// So many bytes, at least one.
        case wrote(Int)
        case waiting
        case end
    }

    private let ring: LogRing
    private let filter: LogFilter
    private var cursor: Int
    /// Where it ends; nil for one that follows.
    private let end: Int?
    private var line: [UInt8] = []
    private var sent = 0
    /// Asked before each piece: a token that is replaced ends the streams that it has opened.
    var isAdmitted: () -> Bool = { true }

    var follows: Bool { end == nil }

    /// Starts with the last `recent` lines that match.
    init(_ ring: LogRing, _ filter: LogFilter, recent: Int, follows: Bool) {
        self.ring = ring
        self.filter = filter
        var next = 0
        let lines = ring.read(from: &next).lines
        end = follows ? nil : next
        var index = lines.endIndex
        var wanted = recent
        while wanted > 0 && index > lines.startIndex {
            index -= 1
            if filter.matches(lines[index]) { wanted -= 1 }
        }
        cursor = next - (lines.endIndex - index)
    }

    /// Fills the buffer as far as it can. `isQuiet` asks for a sign of life if there is nothing else.
    func read(into buffer: UnsafeMutableRawBufferPointer, isQuiet: Bool) -> Step {
        guard isAdmitted() else { return .end }
        var filled = 0
        while filled < buffer.count {
            if sent == line.count && !takeLine() { break }
            let piece = line[sent..<min(line.count, sent + buffer.count - filled)]
            buffer[filled...].copyBytes(from: piece)
            filled += piece.count
            sent += piece.count
        }
        if filled > 0 { return .wrote(filled) }
        if end != nil { return .end }
        guard isQuiet, !buffer.isEmpty else { return .waiting }
        // An empty line: how a client that is gone is noticed.
        buffer[0] = UInt8(ascii: "\n")
        return .wrote(1)
    }

    /// Something may have come since it had to wait.
    var hasNews: Bool { ring.end > cursor }

    /// False when there is nothing more for now.
    private func takeLine() -> Bool {
        line = []
        sent = 0
        while line.isEmpty && cursor < end ?? .max {
            // Lines behind the end were not asked for, and are not missed.
            let wanted = (end ?? .max) - cursor
            let (lines, missed) = ring.read(from: &cursor, limit: 1)
            guard let next = lines.first else { return false }
            if missed > 0 {
                cursor -= 1
                line = LogLine.loss(of: min(missed, wanted), time: next.time).json
            } else if filter.matches(next) {
                line = next.json
            }
        }
        return !line.isEmpty
    }
}

package struct LogFilter: Sendable {
    /// Lines less important than this are left out.
    private let level: LogLevel
    /// In lower case; ASCII letters match either case.
    private let text: [UInt8]

    package init(level: LogLevel = .trace, contains text: String = "") {
        self.level = level
        self.text = text.utf8.map(lowercase)
    }

    func matches(_ line: LogLine) -> Bool {
        line.level >= level && (text.isEmpty || line.json.map(lowercase).contains(text))
    }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
