/// Lets the first lines of each message through in a window and counts the rest, apart for each stage, or part of a library,
/// that speaks: one that says much silences no other. Time is an argument, in nanoseconds; a window is also over when the
/// clock was set back behind its start.
struct RateLimit {
    /// Lines of one message in one window.
    static let burst = 20
    static let window: Int64 = 10_000_000_000

    enum Verdict: Equatable {
        /// Write the line and say how many of its kind were held back before it.
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
    private var holding = 0

    /// True while something is held back that has not been told.
    var isHolding: Bool { holding > 0 }

    /// `speakers`: the fields that name who speaks, of a few: a stage, a part of a library, or one for the other.
    mutating func admit(
        _ message: StaticString, level: LogLevel, by speakers: [LogField] = [], now: Int64
    ) -> Verdict {
        let id = MessageID(place: message.identity, level: level, speakers: speakers.map(\.value))
        guard var window = windows[id], !window.isOver(now) else {
            let heldBack = windows[id]?.heldBack ?? 0
            if heldBack > 0 { holding -= 1 }
            windows[id] = Window(message: message, level: level, speakers: speakers, start: now)
            return .write(heldBack: heldBack)
        }
        defer { windows[id] = window }
        guard window.written >= Self.burst else {
            window.written += 1
            return .write(heldBack: 0)
        }
        if window.heldBack == 0 { holding += 1 }
        window.heldBack += 1
        return .hold
    }

    /// What to tell of messages that have fallen silent since; `force` ends the windows that still run.
    mutating func takeRemainders(now: Int64, force: Bool = false) -> [Window] {
        guard isHolding else { return [] }
        let remainders = windows.filter { $0.value.heldBack > 0 && (force || $0.value.isOver(now)) }
        for id in remainders.keys { windows[id] = nil }
        holding -= remainders.count
        return Array(remainders.values)
    }
}

private struct MessageID: Hashable {
    let place: UInt
    let level: LogLevel
    let speakers: [LogField.Value]
}

extension StaticString {
    /// The place of a literal in the program, which tells two of them apart without reading them.
    var identity: UInt { hasPointerRepresentation ? UInt(bitPattern: utf8Start) : UInt(unicodeScalar.value) }
}
