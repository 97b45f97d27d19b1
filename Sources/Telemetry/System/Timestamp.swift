import Glibc

extension [UInt8] {
    /// Appends nanoseconds since 1970 as RFC 3339 in UTC with milliseconds: `2026-01-31T09:08:07.006Z`.
    mutating func append(timestamp nanoseconds: Int64) {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var seconds = Int(remainder < 0 ? quotient - 1 : quotient)
        let rest = remainder < 0 ? remainder + 1_000_000_000 : remainder
        var date = tm()
        gmtime_r(&seconds, &date)
        append(date.tm_year + 1900, digits: 4, before: "-")
        append(date.tm_mon + 1, digits: 2, before: "-")
        append(date.tm_mday, digits: 2, before: "T")
        append(date.tm_hour, digits: 2, before: ":")
        append(date.tm_min, digits: 2, before: ":")
        append(date.tm_sec, digits: 2, before: ".")
        append(Int32(rest / 1_000_000), digits: 3, before: "Z")
    }

    private mutating func append(_ number: Int32, digits: Int, before mark: Unicode.Scalar) {
        let text = "\(number)"
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Swift.max(0, digits - text.utf8.count)))
        self += text.utf8
        append(UInt8(ascii: mark))
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
