/// A number that only grows. May be added to from any thread; a thread that does so for every message takes a shard.
public final class Counter: MetricSeries {
    private let shards: Shards

    package init(shards owned: Int) { shards = Shards(cells: 1, owned: owned) }

    public func add(_ amount: Int = 1) { shards.cells(ofShard: 0).addShared(UInt64(truncatingIfNeeded: amount)) }

    /// The part of one writer, counted from 0.
    public func shard(_ index: Int) -> CounterShard { CounterShard(shards, index) }

    public var value: Int { Int(truncatingIfNeeded: shards.sum(0)) }

    package func write(into exposition: inout Exposition, labels: String) {
        exposition.sample(labels: labels, value)
    }
}

/// One writer's part of a counter. It costs neither lock nor locked instruction, so no two threads may use it at once.
public struct CounterShard: Sendable {
    private let owner: Shards
    nonisolated(unsafe) private let cell: UnsafeMutablePointer<Shards.Cell>

    init(_ owner: Shards, _ index: Int) {
        self.owner = owner
        cell = owner.cells(ofShard: index + 1)
    }

    public func add(_ amount: Int = 1) { cell.addAlone(UInt64(truncatingIfNeeded: amount)) }
}
