import Synchronization

/// A number that grows or, as a gauge, goes up and down. Any thread may add to it; a thread that does so for every
/// message takes a shard.
public final class Counter: MetricSeries {
    private let shards: Shards

    package init(shards owned: Int) { shards = Shards(cells: 1, owned: owned) }

    public func add(_ amount: Int = 1) { shards.cells(ofShard: 0).addShared(UInt64(truncatingIfNeeded: amount)) }

    /// One writer's part; writers are numbered from 0.
    public func shard(_ index: Int) -> CounterShard { CounterShard(shards, index) }

    public var value: Int { Int(truncatingIfNeeded: shards.sum(0)) }

    package func write(into exposition: inout Exposition, labels: String) {
        exposition.sample(labels: labels, value)
    }
}

/// One writer's part of a counter. It takes no lock and no locked instruction: only one thread at a time may use it.
public struct CounterShard: Sendable {
    private let owner: Shards
    nonisolated(unsafe) private let cell: UnsafeMutablePointer<Shards.Cell>

    init(_ owner: Shards, _ index: Int) {
        self.owner = owner
        cell = owner.cells(ofShard: index + 1)
    }

    public func add(_ amount: Int = 1) { cell.addAlone(UInt64(truncatingIfNeeded: amount)) }
}

/// 64-bit cells in shards that share no cache line, so each shard can be written by its own thread. Shard 0 is for all
/// threads; the others have one writer at a time. A cell's value is its sum over the shards.
final class Shards: Sendable {
    typealias Cell = Atomic<UInt64>

    // Processors prefetch 64-byte lines in pairs.
    private static let alignment = 128

    // Set once; the cells are atomics and live as long as this object.
    nonisolated(unsafe) private let base: UnsafeMutablePointer<Cell>
    private let count: Int
    private let stride: Int

    /// `owned` is the number of shards with one writer each.
    init(cells: Int, owned: Int) {
        let perLine = Self.alignment / MemoryLayout<Cell>.stride
        stride = (cells + perLine - 1) / perLine * perLine
        count = owned + 1
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: stride * count * MemoryLayout<Cell>.stride, alignment: Self.alignment)
        base = memory.bindMemory(to: Cell.self, capacity: stride * count)
        for index in 0..<stride * count { (base + index).initialize(to: Cell(0)) }
    }

    deinit { UnsafeMutableRawPointer(base).deallocate() }

    func cells(ofShard index: Int) -> UnsafeMutablePointer<Cell> {
        precondition((0..<count).contains(index), "no such shard")
        return base + index * stride
    }

    func sum(_ cell: Int) -> UInt64 {
        var sum: UInt64 = 0
        for shard in 0..<count { sum &+= base[shard * stride + cell].load(ordering: .relaxed) }
        return sum
    }
}

extension UnsafeMutablePointer where Pointee == Atomic<UInt64> {
    /// For the only writer of a shard: two plain moves instead of a locked instruction. A reader sees the old or the
    /// new value.
    func addAlone(_ amount: UInt64) {
        pointee.store(pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    func addShared(_ amount: UInt64) {
        pointee.wrappingAdd(amount, ordering: .relaxed)
    }
}
