import Synchronization

/// Takes log lines from any thread and never waits: lines go into a bounded ring, from which a `LogWriter` and the
/// admin endpoint read them. A call whose level is off costs one atomic load; its fields are not built.
public final class Log: Sendable {
    private let threshold: Atomic<UInt8>
    private let clock: WallClock
    private let limit = Mutex(RateLimit())
    package let ring: LogRing
    package let counts = LogCounts()

    public init(level: LogLevel = .info, capacity: Int = 2_048, clock: WallClock = .system) {
        threshold = Atomic(level.rawValue)
        self.clock = clock
        ring = LogRing(capacity: capacity)
    }

    /// The least important level that is written. May be changed at any time.
    public var level: LogLevel {
        get { LogLevel(rawValue: threshold.load(ordering: .relaxed)) ?? .trace }
        set { threshold.store(newValue.rawValue, ordering: .relaxed) }
    }

    public func isEnabled(_ level: LogLevel) -> Bool { level.rawValue <= threshold.load(ordering: .relaxed) }

    public func error(_ message: StaticString, _ fields: @autoclosure () -> [LogField] = []) {
        if isEnabled(.error) { write(.error, message, fields()) }
    }

    public func warning(_ message: StaticString, _ fields: @autoclosure () -> [LogField] = []) {
        if isEnabled(.warning) { write(.warning, message, fields()) }
    }

    public func info(_ message: StaticString, _ fields: @autoclosure () -> [LogField] = []) {
        if isEnabled(.info) { write(.info, message, fields()) }
    }

    /// For the other levels, and for a level known only at run time.
    public func log(_ level: LogLevel, _ message: StaticString, _ fields: @autoclosure () -> [LogField] = []) {
        if isEnabled(level) { write(level, message, fields()) }
    }

    @inline(never)
    private func write(_ level: LogLevel, _ message: StaticString, _ fields: [LogField]) {
        counts.lines(level).add()
        let now = clock.now()
        // An operator who switches debug on wants every line; the ring bounds what that can cost.
        guard level > .debug else { return append(now, level, message, fields) }
        let speakers = fields.filter(\.isSpeaker)
        switch limit.withLock({ $0.admit(message, level: level, by: speakers, now: now) }) {
        case .hold: counts.heldBack.add()
        case .write(heldBack: 0): append(now, level, message, fields)
        case .write(let heldBack): append(now, level, message, fields + [.heldBack(heldBack)])
        }
    }

    private func append(_ now: Int64, _ level: LogLevel, _ message: StaticString, _ fields: [LogField]) {
        ring.append(LogLine(time: now, level: level, message: message, fields: fields))
    }

    /// Logs how many lines were held back of messages that have not come again; `force` does so before their time.
    func tellHeldBack(force: Bool = false) {
        let now = clock.now()
        for remainder in limit.withLock({ $0.takeRemainders(now: now, force: force) }) {
            append(now, remainder.level, remainder.message, remainder.speakers + [.heldBack(remainder.heldBack)])
        }
    }
}

/// How much a line matters, the most important first.
public enum LogLevel: UInt8, Sendable, CaseIterable {
    case error, warning, info, debug, trace

    /// As spelled in configuration, log lines and labels.
    public var name: String { "\(self)" }

    public init?(name: some StringProtocol) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

extension LogLevel: Comparable {
    /// The more important level is the greater: `.error > .trace`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}

/// How many lines were logged, by level, and how many of them were not written.
package final class LogCounts: Sendable {
    private let levels = LogLevel.allCases.map { _ in Counter() }
    /// Lines that repeated an earlier one too often.
    package let heldBack = Counter()
    /// Lines that the output did not take in time.
    package let lost = Counter()

    /// Lines of the level, whether written or held back.
    package func lines(_ level: LogLevel) -> Counter { levels[Int(level.rawValue)] }
}
