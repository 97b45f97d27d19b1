/// Lets the first lines of each message in a window through and counts the rest, separately for each source (a stage or
/// a part of a library), so a noisy one silences no other. Time is an argument, in nanoseconds; a window also ends if
/// the clock is set back to before its start.
struct RateLimit {
    /// Lines of one message in one window.
    static let burst = 20
    static let window: Int64 = 10_000_000_000

    enum Verdict: Equatable {
        /// Write the line and say how many like it were held back before.
        case write(heldBack: Int)
        case hold
    }

    struct Window {
        let message: StaticString
        let level: LogLevel
        let speakers: [LogField]
        fileprivate let start: Int64
        fileprivate var written = 1
        fileprivate(set) var heldBack = 0

        fileprivate func isOver(_ now: Int64) -> Bool { !(0..<RateLimit.window).contains(now &- start) }
    }

    private var windows: [MessageID: Window] = [:]

    /// `speakers` are the fields that name the source: a stage, a part of a library, or both. There are only a few.
    mutating func admit(
        _ message: StaticString, level: LogLevel, by speakers: [LogField] = [], now: Int64
    ) -> Verdict {
        let id = MessageID(place: message.identity, level: level, speakers: speakers.map(\.value))
        guard var window = windows[id], !window.isOver(now) else {
            let heldBack = windows[id]?.heldBack ?? 0
            windows[id] = Window(message: message, level: level, speakers: speakers, start: now)
            return .write(heldBack: heldBack)
        }
        defer { windows[id] = window }
        guard window.written >= Self.burst else {
            window.written += 1
            return .write(heldBack: 0)
        }
        window.heldBack += 1
        return .hold
    }

    /// What to report of messages that have not come again since; `force` also ends windows that still run.
    mutating func takeRemainders(now: Int64, force: Bool = false) -> [Window] {
        let remainders = windows.filter { $0.value.heldBack > 0 && (force || $0.value.isOver(now)) }
        for id in remainders.keys { windows[id] = nil }
        return Array(remainders.values)
    }
}

private struct MessageID: Hashable {
    let place: UInt
    let level: LogLevel
    let speakers: [LogField.Value]
}

extension StaticString {
    /// The address of a literal, which tells two literals apart without reading them.
    var identity: UInt { hasPointerRepresentation ? UInt(bitPattern: utf8Start) : UInt(unicodeScalar.value) }
}
