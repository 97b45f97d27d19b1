import Glibc

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
