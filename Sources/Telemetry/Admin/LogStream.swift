/// Log lines for one client: the most recent ones and, if the client follows, new ones as they come. Holds one line and
/// otherwise reads the log's ring, so a slow reader costs nothing; it is told how many lines it missed. Used only on
/// the admin thread.
package final class LogStream {
    enum Step: Equatable {
        /// The number of bytes, at least one.
        case wrote(Int)
        case waiting
        case end
    }

    private let ring: LogRing
    private let filter: LogFilter
    private var cursor: Int
    /// The cursor at which the stream ends; nil if it follows.
    private let end: Int?
    private var line: [UInt8] = []
    private var sent = 0
    /// Checked before each piece: replacing the token ends the streams that it opened.
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

    /// Fills the buffer as far as possible. If `isQuiet`, writes a sign of life when there is nothing else.
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
        // Writing an empty line reveals a client that is gone.
        buffer[0] = UInt8(ascii: "\n")
        return .wrote(1)
    }

    /// True if lines may have come since the stream had to wait.
    var hasNews: Bool { ring.end > cursor }

    /// False if there are no more lines for now.
    private func takeLine() -> Bool {
        line = []
        sent = 0
        while line.isEmpty && cursor < end ?? .max {
            // Lines after the end were not asked for and do not count as missed.
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
