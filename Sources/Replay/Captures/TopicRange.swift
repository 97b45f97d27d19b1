import Glibc

/// A part of a topic.
package struct TopicRange: Sendable, Equatable {
    /// A place in every partition.
    package enum Bound: Sendable, Equatable {
        case offset(Int64)
        /// Milliseconds since 1970. Each record's own timestamp decides, in whatever order they are.
        case time(Int64)
    }

    package let topic: String
    /// Empty means all.
    package var partitions: [Int32] = []
    /// Nil means the first record that the log holds.
    package var from: Bound?
    /// Up to here and no further; nil means the end of the log when reading began.
    package var to: Bound?

    package init(topic: String) { self.topic = topic }

    /// Whether it may have records of this time.
    func isInRange(_ time: Int64) -> Bool {
        if case .time(let first) = from, time < first { return false }
        if case .time(let end) = to, time >= end { return false }
        return true
    }
}

extension TopicRange.Bound {
    /// Reads an offset (`1200`), a time (`2026-11-20T08:00:00Z`), or how long ago (`2h`). `now` is in milliseconds
    /// since 1970. Nil for anything else.
    package init?(_ text: String, now: Int64) {
        if let offset = Int64(text), offset >= 0 {
            self = .offset(offset)
        } else if let time = PointInTime.milliseconds(text, now: now) {
            self = .time(time)
        } else {
            return nil
        }
    }
}

/// A time that a user typed, in milliseconds since 1970.
package enum PointInTime {
    /// `2026-11-20T08:00:00Z`, also without seconds or time of day, with a fraction, or with an offset such as
    /// `+01:00`; UTC unless given. Or how long ago, such as `90s`, `15m`, `2h`, `1d`.
    package static func milliseconds(_ text: String, now: Int64) -> Int64? { ago(text, now) ?? date(text) }

    private static func ago(_ text: String, _ now: Int64) -> Int64? {
        let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count >= 0 else {
            return nil
        }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        return overflow ? nil : now - min(product, now)
    }

    private static func date(_ text: String) -> Int64? {
        let pattern = #/(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?(Z|[+-]\d\d:\d\d)?)?/#
        // The pattern also matches digits of other scripts, which `Int` does not read.
        guard text.utf8.allSatisfy({ $0 < 0x80 }), let match = text.wholeMatch(of: pattern)?.output,
            let year = Int32(match.1), let month = Int32(match.2), let day = Int32(match.3)
        else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (year - 1900, month - 1, day)
        let midnight = Int64(timegm(&date))
        let hour = match.4.flatMap { Int64($0) } ?? 0
        let minute = match.5.flatMap { Int64($0) } ?? 0
        let second = match.6.flatMap { Int64($0) } ?? 0
        // `timegm` turns a day that is not in the calendar into another.
        guard (date.tm_mon, date.tm_mday) == (month - 1, day), hour < 24, minute < 60, second < 61,
            let offset = zone(match.8)
        else { return nil }
        let fraction = match.7.flatMap { Double("0.\($0)") } ?? 0
        let seconds = midnight + hour * 3600 + minute * 60 + second - offset
        return seconds * 1000 + Int64((fraction * 1000).rounded())
    }

    /// In seconds; nil if out of range.
    private static func zone(_ text: Substring?) -> Int64? {
        guard let text, text != "Z" else { return 0 }
        let parts = text.dropFirst().split(separator: ":").compactMap { Int64($0) }
        guard parts.count == 2, parts[0] < 24, parts[1] < 60 else { return nil }
        let seconds = parts[0] * 3600 + parts[1] * 60
        return text.hasPrefix("-") ? -seconds : seconds
    }
}
