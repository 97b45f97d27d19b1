import Glibc
import Synchronization

/// An observation with the trace that made it.
package struct Exemplar: Sendable {
    let trace: TraceID
    let nanoseconds: UInt64
    /// Nanoseconds since 1970.
    let time: Int64
}

/// A place for one exemplar in each bucket. Any thread may offer one; it is taken at most once a second, so that shards
/// mostly read its time, and never wait for a lock.
final class Exemplars: Sendable {
    private static let interval: UInt64 = 1_000_000_000

    /// When each was taken.
    private let times: Shards
    private let latest: Mutex<[Exemplar?]>

    init(count: Int) {
        times = Shards(cells: count, owned: 0)
        latest = Mutex(Array(repeating: nil, count: count))
    }

    /// The trace is asked for only where it would be taken.
    func offer(
        _ trace: @autoclosure () -> TraceID?, value: UInt64, at index: Int,
        now: Int64 = nanoseconds(of: CLOCK_REALTIME_COARSE)
    ) {
        let time = times.cells(ofShard: 0) + index
        func isDue() -> Bool {
            UInt64(truncatingIfNeeded: now) &- time.pointee.load(ordering: .relaxed) >= Self.interval
        }
        guard isDue() else { return }
        // Another thread may have been faster. Who comes while the lock is held is one of many.
        latest.withLockIfAvailable { latest in
            guard isDue(), let trace = trace() else { return }
            time.pointee.store(UInt64(truncatingIfNeeded: now), ordering: .relaxed)
            latest[index] = Exemplar(trace: trace, nanoseconds: value, time: now)
        }
    }

    /// Nil if there is none.
    func latest(at index: Int) -> Exemplar? { latest.withLock { $0[index] } }
}

/// The trace id of a W3C `traceparent`.
public struct TraceID: Sendable, Equatable {
    let high: UInt64
    let low: UInt64
}

extension TraceID: CustomStringConvertible {
    /// From the header's value, `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; nil if it is not one.
    public init?(traceparent: UnsafeRawBufferPointer) {
        let hyphen = UInt8(ascii: "-")
        guard traceparent.count >= 55, traceparent[2] == hyphen, traceparent[35] == hyphen, traceparent[52] == hyphen,
            let version = Self.word(traceparent[0..<2]), version < 0xFF,
            // Later versions may have more, behind a hyphen.
            traceparent.count == 55 || version > 0 && traceparent[55] == hyphen,
            let high = Self.word(traceparent[3..<19]), let low = Self.word(traceparent[19..<35]), high | low != 0,
            let parent = Self.word(traceparent[36..<52]), parent != 0, Self.word(traceparent[53..<55]) != nil
        else { return nil }
        self.init(high: high, low: low)
    }

    /// Lower-case hex digits, sixteen at most.
    private static func word(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var word: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): word = word << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): word = word << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return word
    }

    public var description: String { high.digits(16, radix: 16) + low.digits(16, radix: 16) }
}
