/// How durations are spread over buckets. May be observed from any thread; a thread that does so for every message
/// takes a shard.
public final class Histogram: MetricSeries {
    fileprivate let buckets: Buckets
    fileprivate let shards: Shards
    fileprivate let exemplars: Exemplars

    package init(_ buckets: Buckets, shards owned: Int) {
        self.buckets = buckets
        // One for each bound, one above, the sum.
        shards = Shards(cells: buckets.bounds.count + 2, owned: owned)
        exemplars = Exemplars(count: buckets.bounds.count + 1)
    }

    public func observe(nanoseconds: Int64, trace: @autoclosure () -> TraceID? = nil) {
        let value = UInt64(max(0, nanoseconds))
        let index = buckets.index(of: value)
        let cells = shards.cells(ofShard: 0)
        (cells + index).addShared(1)
        (cells + buckets.bounds.count + 1).addShared(value)
        exemplars.offer(trace(), value: value, at: index)
    }

    /// The part of one writer, counted from 0.
    public func shard(_ index: Int) -> HistogramShard { HistogramShard(self, index) }

    /// What was observed so far. An observation that is being made may be half in it.
    public var snapshot: HistogramSnapshot {
        let count = buckets.bounds.count
        return HistogramSnapshot(
            bounds: buckets.bounds, counts: (0...count).map(shards.sum), sum: shards.sum(count + 1))
    }

    package func write(into exposition: inout Exposition, labels: String) {
        let snapshot = snapshot
        var running: UInt64 = 0
        let counts = snapshot.counts.map { count in
            running &+= count
            return Int(truncatingIfNeeded: running)
        }
        exposition.histogram(
            labels: labels, bounds: buckets.labels, counts: counts, sum: Double(snapshot.sum) / 1e9,
            exemplar: exemplars.latest)
    }
}

/// One writer's part of a histogram. It costs neither lock nor locked instruction, so no two threads may use it at once.
public struct HistogramShard: Sendable {
    private let owner: Histogram
    nonisolated(unsafe) private let cells: UnsafeMutablePointer<Shards.Cell>

    init(_ owner: Histogram, _ index: Int) {
        self.owner = owner
        cells = owner.shards.cells(ofShard: index + 1)
    }

    /// A negative duration counts as none.
    public func observe(nanoseconds: Int64) { _ = count(UInt64(max(0, nanoseconds))) }

    /// The trace is asked for about once a second.
    public func observe(nanoseconds: Int64, trace: @autoclosure () -> TraceID?) {
        let value = UInt64(max(0, nanoseconds))
        owner.exemplars.offer(trace(), value: value, at: count(value))
    }

    /// The bucket it went into.
    private func count(_ value: UInt64) -> Int {
        let index = owner.buckets.index(of: value)
        (cells + index).addAlone(1)
        (cells + owner.buckets.bounds.count + 1).addAlone(value)
        return index
    }
}
