/// The distribution of durations over buckets. Any thread may observe; a thread that does so for every message takes a
/// shard.
public final class Histogram: MetricSeries {
    private let buckets: Buckets
    private let cells: Cells
    private let exemplars: Exemplars

    private init(_ buckets: Buckets, _ cells: Cells, _ exemplars: Exemplars) {
        self.buckets = buckets
        self.cells = cells
        self.exemplars = exemplars
    }

    package convenience init(_ buckets: Buckets) {
        let count = buckets.bounds.count
        // One cell for each bound, one for what lies above the last, one for the sum.
        self.init(buckets, Cells(count: count + 2), Exemplars(count: count + 1))
    }

    /// One writer's part, for one thread at a time; writers are numbered from 0.
    public func shard(_ index: Int) -> Histogram { Histogram(buckets, cells.part(index), exemplars) }

    /// A negative duration counts as zero.
    public func observe(nanoseconds: Int64) { _ = count(UInt64(max(0, nanoseconds))) }

    /// `trace` is evaluated about once a second for each bucket.
    public func observe(nanoseconds: Int64, trace: @autoclosure () -> TraceID?) {
        let value = UInt64(max(0, nanoseconds))
        exemplars.offer(trace(), value: value, at: count(value))
    }

    /// Returns the bucket that the value went into.
    private func count(_ value: UInt64) -> Int {
        let index = buckets.index(of: value)
        cells[index].add(1, cells.hasOneWriter)
        cells[buckets.bounds.count + 1].add(value >> buckets.sumShift, cells.hasOneWriter)
        return index
    }

    /// Writes what was observed so far. An observation in progress may be half included.
    package func write(into exposition: inout Exposition, labels: String) {
        let count = buckets.bounds.count
        var running: UInt64 = 0
        let counts = (0...count).map { index in
            running &+= cells.sum(index)
            return Int(truncatingIfNeeded: running)
        }
        exposition.histogram(
            labels: labels, bounds: buckets.labels, counts: counts,
            sum: Double(cells.sum(count + 1)) * Double(1 << buckets.sumShift) / 1e9,
            exemplar: exemplars.latest)
    }
}

/// The upper bounds of a histogram's buckets, in nanoseconds, ascending. Values above the last have a bucket too.
public struct Buckets: Sendable {
    let bounds: [UInt64]
    /// `le="0.001"`, one for each bound, and `le="+Inf"` for what lies above.
    let labels: [String]
    /// The sum is kept in units of 2^`sumShift` nanoseconds.
    let sumShift: UInt64
    /// For each number of significant bits, the first bucket that a value with that many bits can fall into.
    private let firstByBits: [UInt8]

    init(_ bounds: [UInt64], sumShift: UInt64 = 0) {
        precondition(!bounds.isEmpty && bounds.count < 255 && zip(bounds, bounds.dropFirst()).allSatisfy(<))
        self.bounds = bounds
        self.sumShift = sumShift
        labels = bounds.map { "le=\"\(Double($0) / 1e9)\"" } + ["le=\"+Inf\""]
        firstByBits = (0...64).map { bits in
            let least: UInt64 = bits == 0 ? 0 : 1 << UInt64(bits - 1)
            return UInt8(bounds.firstIndex { least <= $0 } ?? bounds.count)
        }
    }

    func index(of value: UInt64) -> Int {
        var index = Int(firstByBits[64 - value.leadingZeroBitCount])
        while index < bounds.count && bounds[index] < value { index += 1 }
        return index
    }
}

extension Buckets {
    private static func milliseconds(_ bounds: UInt64...) -> [UInt64] { bounds.map { $0 * 1_000_000 } }
    private static func seconds(_ bounds: Double...) -> [UInt64] { bounds.map { UInt64($0 * 1e9) } }

    /// 1, 2.5, 5 in each power of ten from one microsecond to five milliseconds.
    private static let fine: [UInt64] = [1, 10, 100, 1_000].flatMap { [$0 * 1_000, $0 * 2_500, $0 * 5_000] }
    private static let coarse = milliseconds(10, 25, 50, 100, 250, 500)

    /// From a stage that looks up a name to one that waits until the deadline.
    package static let stage = Buckets(fine + coarse + seconds(1, 2.5, 5, 10, 30, 60))

    /// From a message's turn to the hand-over of its output.
    package static let message = Buckets(
        fine.filter { $0 >= 10_000 } + coarse + seconds(1, 2.5, 5, 10, 20, 30, 60))

    /// From a record's timestamp to its acknowledged output. The long end is for a backlog, whose sum would overflow in
    /// nanoseconds.
    package static let endToEnd = Buckets(
        milliseconds(1, 2, 5) + coarse + seconds(1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600), sumShift: 16)

    /// One commit, file or transaction.
    package static let checkpoint = Buckets(
        [500_000] + milliseconds(1, 2, 5) + coarse + seconds(1, 2.5, 5, 10, 30))
}
