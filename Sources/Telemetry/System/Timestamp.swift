import Glibc

extension [UInt8] {
    /// Appends nanoseconds since 1970 as RFC 3339 in UTC with milliseconds: `2026-01-31T09:08:07.006Z`.
    mutating func append(timestamp nanoseconds: Int64) {
        let (seconds, rest) = nanoseconds.floored(by: 1_000_000_000)
        let (days, second) = seconds.floored(by: 86_400)
        let date = civil(day: days)
        append(date.year, digits: 4)
        append(UInt8(ascii: "-"))
        append(date.month, digits: 2)
        append(UInt8(ascii: "-"))
        append(date.day, digits: 2)
        append(UInt8(ascii: "T"))
        append(second / 3_600, digits: 2)
        append(UInt8(ascii: ":"))
        append(second / 60 % 60, digits: 2)
        append(UInt8(ascii: ":"))
        append(second % 60, digits: 2)
        append(UInt8(ascii: "."))
        append(rest / 1_000_000, digits: 3)
        append(UInt8(ascii: "Z"))
    }

    private mutating func append(_ number: Int64, digits: Int) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}

/// The Gregorian date of a day counted from 1970-01-01, by Hinnant's algorithm: years start in March, so that the leap
/// day is the last of its year.
private func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (day + 719_468).floored(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
}

extension Int64 {
    /// Quotient and remainder, where the remainder is never negative.
    fileprivate func floored(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Where log lines and exemplars get their time from: nanoseconds since 1970.
public struct WallClock: Sendable {
    public let now: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Int64) { self.now = now }

    public static let system = WallClock { nanoseconds(of: CLOCK_REALTIME) }
}

func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
