import Synchronization

/// A number that grows or, as a gauge, goes up and down. Any thread may add to it; a thread that does so for every
/// message takes a shard.
public struct Counter: MetricSeries {
    private let cells: Cells
    // The first cell, without counting a reference for each message.
    nonisolated(unsafe) private let cell: UnsafeMutablePointer<Cells.Cell>
    private let hasOneWriter: Bool

    private init(_ cells: Cells) {
        self.cells = cells
        cell = cells[0]
        hasOneWriter = cells.hasOneWriter
    }

    package init() { self.init(Cells(count: 1)) }

    /// One writer's part, for one thread at a time; writers are numbered from 0.
    public func shard(_ index: Int) -> Counter { Counter(cells.part(index)) }

    public func add(_ amount: Int = 1) { cell.add(UInt64(truncatingIfNeeded: amount), hasOneWriter) }

    public var value: Int { Int(truncatingIfNeeded: cells.sum(0)) }

    package func write(into exposition: inout Exposition, labels: String) {
        exposition.sample(labels: labels, value)
    }
}

/// 64-bit cells that share no cache line with others, and parts of them that have one writer each. A cell's value is
/// its sum over the parts.
final class Cells: Sendable {
    typealias Cell = Atomic<UInt64>

    // Processors prefetch 64-byte lines in pairs.
    private static let alignment = 128

    // Set once; the cells are atomics and live as long as this object.
    nonisolated(unsafe) private let base: UnsafeMutablePointer<Cell>
    private let count: Int
    let hasOneWriter: Bool
    private let parts = Mutex<[Int: Cells]>([:])

    init(count: Int, hasOneWriter: Bool = false) {
        self.count = count
        self.hasOneWriter = hasOneWriter
        let size = (count * MemoryLayout<Cell>.stride + Self.alignment - 1) / Self.alignment * Self.alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.alignment)
        base = memory.bindMemory(to: Cell.self, capacity: count)
        for index in 0..<count { (base + index).initialize(to: Cell(0)) }
    }

    deinit { UnsafeMutableRawPointer(base).deallocate() }

    /// The same one for the same writer.
    func part(_ writer: Int) -> Cells {
        parts.withLock { parts in
            let part = parts[writer] ?? Cells(count: count, hasOneWriter: true)
            parts[writer] = part
            return part
        }
    }

    subscript(index: Int) -> UnsafeMutablePointer<Cell> { base + index }

    func sum(_ index: Int) -> UInt64 {
        parts.withLock { $0.values.reduce(base[index].load(ordering: .relaxed)) { $0 &+ $1.sum(index) } }
    }
}

extension UnsafeMutablePointer where Pointee == Cells.Cell {
    func add(_ amount: UInt64, _ hasOneWriter: Bool) {
        if hasOneWriter {
            // Two plain moves instead of a locked instruction. A reader sees the old or the new value.
            pointee.store(pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
        } else {
            pointee.wrappingAdd(amount, ordering: .relaxed)
        }
    }
}
