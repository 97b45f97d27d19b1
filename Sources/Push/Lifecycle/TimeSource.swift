import Glibc
import Synchronization

/// The monotonic clock: the system's, or one that stands still until it is told to go on.
public enum TimeSource: Sendable {
    case system
    case manual(ManualTime)

    public var now: Instant {
        switch self {
        case .system:
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Instant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
        case .manual(let time):
            return time.now
        }
    }
}

/// A clock for tests and for replays.
public final class ManualTime: Sendable {
    private let nanoseconds: Atomic<UInt64>

    public init(_ start: Instant = Instant(nanoseconds: 0)) { nanoseconds = Atomic(start.nanoseconds) }

    public var now: Instant { Instant(nanoseconds: nanoseconds.load(ordering: .sequentiallyConsistent)) }

    public func advance(by duration: Duration) {
        nanoseconds.wrappingAdd(duration.wholeNanoseconds, ordering: .sequentiallyConsistent)
    }
}
