/// The state of a histogram at a moment. The difference of two is what happened between them.
public struct HistogramSnapshot: Sendable {
    let bounds: [UInt64]
    let counts: [UInt64]
    let sum: UInt64

    public var count: Int { Int(truncatingIfNeeded: counts.reduce(0, &+)) }

    public var sumSeconds: Double { Double(sum) / 1e9 }

    /// Both are of the same histogram, `earlier` from before.
    public static func - (later: Self, earlier: Self) -> Self {
        Self(bounds: later.bounds, counts: zip(later.counts, earlier.counts).map(&-), sum: later.sum &- earlier.sum)
    }

    /// The value, in seconds, that the given share of observations does not exceed, as Prometheus estimates it: evenly
    /// spread within a bucket, and the last bound for what lies above. Nil when nothing was observed.
    public func quantile(_ share: Double) -> Double? {
        let total = count
        guard total > 0 else { return nil }
        let rank = min(max(share, 0), 1) * Double(total)
        var below = 0.0
        for (index, bound) in bounds.enumerated() {
            let inside = Double(counts[index])
            if inside > 0 && below + inside >= rank {
                let lower = index == 0 ? 0 : Double(bounds[index - 1])
                return (lower + (Double(bound) - lower) * (rank - below) / inside) / 1e9
            }
            below += inside
        }
        return bounds.last.map { Double($0) / 1e9 }
    }
}
