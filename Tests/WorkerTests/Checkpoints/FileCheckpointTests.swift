import Engine
import Glibc
import Kafka
import Push
import Stores
import Telemetry
import TestSupport
import Testing

@testable import Worker

struct FileCheckpointTests {
    private let place = TopicPartition("in", 3)
    private let folder: TemporaryFolder
    private let registry = MetricRegistry(shards: 0)
    private let metrics: ServiceMetrics

    init() throws {
        folder = try TemporaryFolder()
        metrics = ServiceMetrics(registry: registry, stages: [], outcomes: [], deadLetterReasons: [])
    }

    private func open(
        cluster: String = "c", group: String = "g", log: Log = Log()
    ) throws -> FileCheckpoint {
        try FileCheckpoint(
            try StateFile(path: folder.path + "/state.sqlite", access: .alone),
            owner: .init(cluster: cluster, group: group), stalePartitions: metrics.stalePartitions, log: log)
    }

    /// Saves anna's count of 7 with that position.
    private func save(_ checkpoint: FileCheckpoint, _ next: Int64, beyond completed: [Range<Int64>] = []) throws {
        var counts = try #require(checkpoint.counts).lane(of: 1)
        var pending = PendingCheckpoint()
        let record = Delivery().record
        try Array("anna".utf8).withUnsafeBytes { name in
            record.recipient = name
            let begun = counts.begin(record)
            let slot = try #require(begun)
            counts.end(slot, .set(7))
            pending.counts.acknowledge(slot.change(.set(7)), of: SourceOffset(assignment: 0, offset: 0)) { _ in }
        }
        pending.add(Self.position(place, next, completed))
        let batch = pending.take()
        let number = try checkpoint.save(batch)
        pending.saved(batch, in: number)
    }

    private static func position(
        _ place: TopicPartition, _ next: Int64, _ completed: [Range<Int64>] = []
    ) -> PartitionPosition {
        PartitionPosition(
            topic: place.topic, partition: place.partition, next: next,
            metadata: OffsetMetadata(base: next, completed: completed).encoded().text)
    }

    private func restore(
        _ checkpoint: FileCheckpoint, group offset: Int64, beyond completed: [Range<Int64>] = [],
        metadata: String? = nil, unsaved: PartitionPosition? = nil, end: Int64 = 1000
    ) throws -> PartitionStart {
        let ours = offset < 0 ? "" : OffsetMetadata(base: offset, completed: completed).encoded().text
        let committed = Position(place, offset: offset, metadata: metadata ?? ours)
        let starts = try checkpoint.restore([committed], unsaved: { _ in unsaved }, end: { _ in end })
        return try #require(starts.first)
    }

    private var countOfAnna: Int32 {
        get throws {
            var found: Int32 = 0
            try BadgeTable(try StateFile(path: folder.path + "/state.sqlite", access: .shared))
                .forEach { _, _, count in found = count }
            return found
        }
    }

    @Test("The file's position counts where the group's is no further, and keeps what is done beyond it")
    func fileIsFurther() throws {
        let checkpoint = try open()
        try save(checkpoint, 40, beyond: [45..<50])
        let expected = PartitionStart(place, offset: 40, completed: [45..<50])
        #expect(try restore(checkpoint, group: 30) == expected)
        #expect(try restore(checkpoint, group: 40, beyond: [45..<48]) == expected)
        #expect(try restore(checkpoint, group: -1001) == expected)
        #expect(metrics.stalePartitions.value == 0)
    }

    @Test("What is not yet in the file counts before what is")
    func unsaved() throws {
        let checkpoint = try open()
        try save(checkpoint, 40)
        let start = try restore(checkpoint, group: 30, unsaved: Self.position(place, 60))
        #expect(start == PartitionStart(place, offset: 60))
    }

    @Test("Where the group is further another instance has served the partition: counts may be stale")
    func groupIsFurther() throws {
        let log = Log()
        let checkpoint = try open(log: log)
        try save(checkpoint, 40)
        #expect(try restore(checkpoint, group: 70) == PartitionStart(place, offset: 70))
        #expect(metrics.stalePartitions.value == 1)
        #expect(log.texts.contains { $0.contains("exactly-once") })
    }

    @Test("A partition without state here that was served before is said, one that was not begins anew")
    func missing() throws {
        let log = Log()
        let checkpoint = try open(log: log)
        #expect(try restore(checkpoint, group: -1001) == PartitionStart(place, offset: Position.stored))
        #expect(log.texts.isEmpty)
        #expect(try restore(checkpoint, group: 70) == PartitionStart(place, offset: 70))
        #expect(log.texts.contains { $0.contains("its counts are not here; exactly-once") })
    }

    @Test("An offset that an operator has set is obeyed", arguments: ["", "PMv1AAAA", "kafka-consumer-groups"])
    func operatorReset(metadata: String) throws {
        let log = Log()
        let checkpoint = try open(log: log)
        try save(checkpoint, 40, beyond: [45..<50])
        #expect(try restore(checkpoint, group: 5, metadata: metadata) == PartitionStart(place, offset: 5))
        #expect(log.texts.contains { $0.contains("obeyed: events that repeat count again") })
        #expect(try countOfAnna == 7)
    }

    @Test("A file that is ahead of the log's end is about another log: it is set aside, with its counts")
    func foreignLog() throws {
        try save(try open(), 40)
        let log = Log()
        let checkpoint = try open(log: log)
        // Who joins others is given nothing at first, and brokers may not answer.
        #expect(try checkpoint.restore([], unsaved: { _ in nil }, end: { _ in 0 }).isEmpty)
        #expect(throws: KafkaError.self) {
            try checkpoint.restore(
                [Position(place, offset: Position.none)], unsaved: { _ in nil },
                end: { _ in throw KafkaError.unanswered })
        }
        #expect(try restore(checkpoint, group: -1001, end: 39) == PartitionStart(place, offset: Position.stored))
        #expect(log.texts.contains { $0.contains("set aside") })
        #expect(access(folder.path + "/state.sqlite.aside-1", F_OK) == 0)
        #expect(try countOfAnna == 0)
    }

    @Test("A topic that was made anew under a running service costs no counts")
    func recreatedTopic() throws {
        let checkpoint = try open()
        _ = try restore(checkpoint, group: -1001)
        try save(checkpoint, 40)
        #expect(try restore(checkpoint, group: -1001, end: 2) == PartitionStart(place, offset: Position.stored))
        #expect(try countOfAnna == 7)
    }

    @Test("Another cluster's or group's file is set aside", arguments: [("other", "g"), ("c", "other")])
    func otherOwner(cluster: String, group: String) throws {
        try save(try open(), 40)
        let log = Log()
        let checkpoint = try open(cluster: cluster, group: group, log: log)
        #expect(try restore(checkpoint, group: -1001) == PartitionStart(place, offset: Position.stored))
        #expect(log.texts.contains { $0.contains("another cluster's or group's") })
        #expect(try countOfAnna == 0)
    }
}

extension Log {
    fileprivate var texts: [String] {
        var cursor = 0
        return ring.read(from: &cursor).lines.map { "\($0.message)" }
    }
}
