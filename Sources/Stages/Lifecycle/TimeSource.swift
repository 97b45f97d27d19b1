import Glibc
import Synchronization

/// The monotonic clock: the system's, or one that stands still until it is advanced.
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

/// A point on the monotonic clock, in nanoseconds.
public struct Instant: Comparable, Hashable, Sendable {
    public var nanoseconds: UInt64

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Earlier than any other.
    public static let past = Instant(nanoseconds: 0)

    /// Later than any other.
    public static let never = Instant(nanoseconds: .max)

    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates at `never`; a negative duration adds nothing.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        instant.advanced(nanoseconds: duration.wholeNanoseconds)
    }

    /// Saturates at `never`.
    public func advanced(nanoseconds more: UInt64) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(more)
        return overflow ? .never : Instant(nanoseconds: sum)
    }

    /// The nanoseconds since an earlier instant; 0 if that instant is later.
    public func nanoseconds(since earlier: Instant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds &- earlier.nanoseconds : 0
    }
}

extension Duration {
    /// Clamped to 64 bits; 0 for a negative duration.
    public var wholeNanoseconds: UInt64 { UInt64(clamping: attoseconds / 1_000_000_000) }
}
