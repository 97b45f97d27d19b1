import Kafka
import Push
import Stores
import Telemetry
import TestSupport
import Testing

@testable import Worker

/// A changelog, and an instance that has partitions of it.
final class BadgeChangelog: Sendable {
    typealias Entry = (partition: Int32, recipient: String, count: Int32)

    let brokers: Brokers
    let topic = "test-badges-\(UInt64.random(in: 0 ... .max))"
    private let folder: TemporaryFolder
    var statePath: String { "\(folder.path)/state.sqlite" }

    /// Blocks, like everything else here.
    init(partitions: Int = 3, in folder: TemporaryFolder? = nil) throws {
        brokers = try Brokers()
        self.folder = try folder ?? TemporaryFolder()
        try brokers.createTopic(topic, partitions: partitions, settings: [("cleanup.policy", "compact")])
    }

    /// Gives the offset of the last one.
    @discardableResult
    func write(_ entries: [Entry], timestamp: Int64 = 0) throws -> Int64 {
        let producer = try Producer(brokers.properties([("linger.ms", "0")]), log: { _, _, _ in })
        let reports = try write(entries, by: producer, timestamp: timestamp)
        return try #require(reports.map(\.offset).max())
    }

    /// Blocks until they are stored. A transaction may be open.
    func write(_ entries: [Entry], by producer: Producer, timestamp: Int64 = 0) throws -> [DeliveryReport] {
        let topic = try producer.topic(topic)
        for (partition, recipient, count) in entries {
            var headers = Headers()
            let (key, value) = Self.record(recipient, count)
            let result = key.withUnsafeBytes { key in
                func publish(_ value: UnsafeRawBufferPointer?) -> PublishResult {
                    producer.publish(
                        to: topic, partition: partition, key: key, value: value, headers: &headers,
                        timestamp: timestamp, opaque: 0)
                }
                return value?.withUnsafeBytes(publish) ?? publish(nil)
            }
            guard case .queued = result else { throw SystemFailure(0) }
        }
        var all: [DeliveryReport] = []
        var reports: [DeliveryReport] = []
        while all.count < entries.count {
            producer.poll(milliseconds: 100, into: &reports)
            if let error = reports.lazy.compactMap(\.error).first { throw error }
            all += reports
        }
        return all
    }

    private static func record(_ recipient: String, _ count: Int32) -> (key: [UInt8], value: [UInt8]?) {
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        let name = Array(recipient.utf8)
        ChangelogRecord.appendKey(name.span.bytes, "".utf8Span.span.bytes, to: &key)
        return (key, ChangelogRecord.appendValue(count, to: &value) ? value : nil)
    }

    /// One that has the state file.
    func instance(turn: Int = 1000) throws -> Instance { try Instance(self, turn: turn) }

    final class Instance: Sendable {
        let changelog: Changelog
        let metrics: ServiceMetrics
        let log = Log()
        let whole = Watched<[Int32]>([])

        init(_ source: BadgeChangelog, turn: Int) throws {
            let registry = MetricRegistry(shards: 0)
            metrics = ServiceMetrics(registry: registry, stages: [], outcomes: [], deadLetterReasons: [])
            changelog = try Changelog(
                source.brokers.properties([("fetch.wait.max.ms", "50")]), topic: source.topic, of: "cluster",
                into: try StateFile(path: source.statePath, access: .alone), turn: turn, metrics: metrics, log: log)
        }

        func restore(_ partitions: [Int32]) {
            changelog.restore(partitions) { [whole] partition in whole.change { $0.append(partition) } }
        }

        func waitUntilWhole(_ partitions: [Int32]) async throws {
            try await whole.wait(for: "the counts of \(partitions)") { $0.sorted() == partitions }
        }

        /// Restores them and waits for it.
        func take(_ partitions: [Int32]) async throws {
            whole.change { $0 = [] }
            restore(partitions)
            try await waitUntilWhole(partitions)
        }
    }
}

/// What one lane has of an instance's counts.
final class LaneView {
    private var counts: LaneCounts

    init(_ changelog: Changelog) throws { counts = try changelog.counts.lane(of: 1) }

    /// nil where the partition is not the instance's to count.
    func count(_ recipient: String, of partition: Int32, _ operation: BadgeOperation? = nil) -> Int32? {
        change(recipient, of: partition, operation)?.0
    }

    /// The count before, and what goes with the message.
    func change(
        _ recipient: String, of partition: Int32, _ operation: BadgeOperation?
    ) -> (Int32, BadgeChange?)? {
        let record = Delivery().record
        record.source = Source(topic: SourceTopic("in"), partition: partition, offset: 0)
        return Array(recipient.utf8).withUnsafeBytes { name in
            record.recipient = name
            guard let slot = counts.begin(record) else { return nil }
            counts.end(slot, operation)
            return (slot.count, operation.map(slot.change))
        }
    }
}
