import Push
import Testing

@testable import Stores

/// One instance of the service over a log of badge events: lanes, deliveries that are acknowledged at some time,
/// checkpoints. It dies when it is let go of.
final class SimulatedService {
    struct Event {
        let recipient: String
        let operation: BadgeOperation
    }

    /// Each partition's events.
    typealias Log = [[Event]]

    private struct Delivery {
        let change: BadgeChange
        let partition: Int
        let source: SourceOffset
    }

    /// One assignment of a partition.
    private struct Assignment {
        let partition: Int
        var next: Int
        var done: Set<Int>
        var isOver = false
    }

    private let log: Log
    private let readers: [BadgeReaderBox]
    private var lanes: [LaneCounts]
    private var file: CheckpointFile
    private var pending = PendingCheckpoint()
    private var inFlight: [Delivery] = []
    private var assignments: [Assignment] = []
    /// What was published: the count of each event, by partition and offset.
    private(set) var published: [(partition: Int, offset: Int, count: Int32)] = []

    init(_ log: Log, _ state: StateFile) throws {
        self.log = log
        var file = try CheckpointFile(state)
        let progress = file.progress
        lanes = [0, 1].map { _ in LaneCounts(LiveCounts(capacity: 3, progress: progress)) }
        readers = [try BadgeReaderBox(state), try BadgeReaderBox(state)]
        _ = try file.claim(for: .init(cluster: "c", group: "g"))
        self.file = file
        for partition in log.indices { try assign(partition) }
    }

    private func assign(_ partition: Int) throws {
        let position = try pending.position(of: "in", Int32(partition)) ?? file.position(of: "in", Int32(partition))
        let next = Int(position?.next ?? 0)
        let beyond = position?.metadata.split(separator: ",").compactMap { Int($0) } ?? []
        assignments.append(Assignment(partition: partition, next: next, done: Set(0..<next).union(beyond)))
    }

    private func current(_ partition: Int) -> Int? {
        assignments.indices.last { assignments[$0].partition == partition && !assignments[$0].isOver }
    }

    /// False if the partition has nothing more.
    func process(_ partition: Int) throws -> Bool {
        guard let number = current(partition) else { return false }
        while assignments[number].done.contains(assignments[number].next) { assignments[number].next += 1 }
        let offset = assignments[number].next
        guard offset < log[partition].count else { return false }
        assignments[number].next += 1
        let event = log[partition][offset]
        let lane = event.recipient.utf8.count % 2
        let reader = readers[lane]
        let (change, count) = try lanes[lane].process(event) { (key) throws(StoreError) in try reader.count(key) }
        published.append((partition, offset, count))
        let source = SourceOffset(assignment: number, offset: Int64(offset))
        inFlight.append(Delivery(change: try #require(change), partition: partition, source: source))
        return true
    }

    /// Acknowledges the n-th delivery in flight.
    func acknowledge(_ n: Int) {
        guard !inFlight.isEmpty else { return }
        let delivery = inFlight.remove(at: n % inFlight.count)
        pending.counts.acknowledge(delivery.change, of: delivery.source) { complete($0) }
    }

    private func complete(_ source: SourceOffset) { assignments[source.assignment].done.insert(Int(source.offset)) }

    /// The partition is taken away, what is in flight given up, and comes back.
    func rebalance(_ partition: Int) throws {
        guard let number = current(partition) else { return }
        for delivery in inFlight where delivery.partition == partition {
            pending.counts.giveUp(delivery.change, of: delivery.source) { complete($0) }
        }
        inFlight.removeAll { $0.partition == partition }
        add(number)
        assignments[number].isOver = true
        try assign(partition)
    }

    private func add(_ number: Int) {
        let assignment = assignments[number]
        var next = 0
        while assignment.done.contains(next) { next += 1 }
        let beyond = assignment.done.filter { $0 > next }.sorted()
        pending.add(
            PartitionPosition(
                topic: "in", partition: Int32(assignment.partition), next: Int64(next),
                metadata: beyond.map(String.init).joined(separator: ",")))
    }

    func checkpoint(failing: Bool = false) throws(StoreError) {
        for number in assignments.indices where !assignments[number].isOver { add(number) }
        let batch = pending.take()
        if failing { return pending.putBack(batch) }
        let number = try file.save(batch)
        pending.saved(batch, in: number)
    }

    func finish() throws {
        for partition in log.indices { while try process(partition) {} }
        while !inFlight.isEmpty { acknowledge(0) }
        try checkpoint()
    }
}

/// Classes, because arrays hold no types that cannot be copied.
final class LaneCounts {
    private var live: LiveCounts
    private let lease = CountLease()

    init(_ live: consuming LiveCounts) { self.live = live }

    func process(
        _ event: SimulatedService.Event, _ load: (RawSpan) throws(StoreError) -> Int32
    ) throws(StoreError) -> (BadgeChange?, Int32) {
        try event.recipient.withBytes { (recipient) throws(StoreError) in
            let app = "".utf8Span.span.bytes
            let slot = try live.begin(recipient: recipient, app: app, lease: lease) { () throws(StoreError) in
                try load(recipient)
            }
            guard let slot else { return (nil, 0) }
            live.end(slot, event.operation)
            return (slot.change(event.operation), event.operation.applied(to: slot.count))
        }
    }
}

final class BadgeReaderBox {
    private let reader: BadgeReader

    init(_ state: StateFile) throws(StoreError) { reader = try BadgeReader(state) }

    func count(_ recipient: RawSpan) throws(StoreError) -> Int32 {
        try reader.count(recipient: recipient, app: "".utf8Span.span.bytes, lease: CountLease())
    }
}
