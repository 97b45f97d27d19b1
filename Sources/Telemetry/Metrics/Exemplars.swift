import Glibc
import Synchronization

/// An observation with the trace that it belongs to.
package struct Exemplar: Sendable {
    let trace: TraceID
    let nanoseconds: UInt64
    /// Nanoseconds since 1970.
    let time: Int64
}

/// A place for one exemplar per bucket. Any thread may offer one; each place takes one at most once a second, so shards
/// mostly only read the place and never wait for it.
final class Exemplars: Sendable {
    // Cells of a place. The version is odd while it is being written.
    private enum Cell { static let version = 0, time = 1, high = 2, low = 3, value = 4, count = 5 }
    private static let interval: UInt64 = 1_000_000_000

    private let places: Cells

    init(count: Int) { places = Cells(count: count * Cell.count) }

    /// `trace` is evaluated only if the exemplar would be taken.
    func offer(
        _ trace: @autoclosure () -> TraceID?, value: UInt64, at index: Int,
        now: Int64 = nanoseconds(of: CLOCK_REALTIME_COARSE)
    ) {
        let place = places[index * Cell.count]
        let now = UInt64(truncatingIfNeeded: now)
        let age = now &- place[Cell.time].load(ordering: .relaxed)
        let version = place[Cell.version].load(ordering: .relaxed)
        guard age >= Self.interval, version.isMultiple(of: 2), let trace = trace() else { return }
        let (isOurs, _) = place[Cell.version].compareExchange(
            expected: version, desired: version &+ 1, ordering: .acquiring)
        guard isOurs else { return }
        atomicMemoryFence(ordering: .releasing)
        place[Cell.time].store(now, ordering: .relaxed)
        place[Cell.high].store(trace.high, ordering: .relaxed)
        place[Cell.low].store(trace.low, ordering: .relaxed)
        place[Cell.value].store(value, ordering: .relaxed)
        place[Cell.version].store(version &+ 2, ordering: .releasing)
    }

    /// Nil if there is none, or if one is being written.
    func latest(at index: Int) -> Exemplar? {
        let place = places[index * Cell.count]
        let version = place[Cell.version].load(ordering: .acquiring)
        guard version > 0, version.isMultiple(of: 2) else { return nil }
        let exemplar = Exemplar(
            trace: TraceID(
                high: place[Cell.high].load(ordering: .relaxed), low: place[Cell.low].load(ordering: .relaxed)),
            nanoseconds: place[Cell.value].load(ordering: .relaxed),
            time: Int64(truncatingIfNeeded: place[Cell.time].load(ordering: .relaxed)))
        atomicMemoryFence(ordering: .acquiring)
        return place[Cell.version].load(ordering: .relaxed) == version ? exemplar : nil
    }
}

/// The trace id of a W3C `traceparent`.
public struct TraceID: Sendable, Equatable {
    let high: UInt64
    let low: UInt64
}

extension TraceID: CustomStringConvertible {
    /// Parses the header's value, `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; nil if it is malformed.
    public init?(traceparent: UnsafeRawBufferPointer) {
        let hyphen = UInt8(ascii: "-")
        guard traceparent.count >= 55, traceparent[2] == hyphen, traceparent[35] == hyphen, traceparent[52] == hyphen,
            let version = Self.word(traceparent[0..<2]), version < 0xFF,
            // Later versions may append more after a hyphen.
            traceparent.count == 55 || version > 0 && traceparent[55] == hyphen,
            let high = Self.word(traceparent[3..<19]), let low = Self.word(traceparent[19..<35]), high | low != 0,
            let parent = Self.word(traceparent[36..<52]), parent != 0, Self.word(traceparent[53..<55]) != nil
        else { return nil }
        self.init(high: high, low: low)
    }

    /// Lowercase hex digits, at most sixteen.
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
