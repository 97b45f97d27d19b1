import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStores
import PushmillTelemetry

/// Counts of the format before this one. What was an instance's own goes into the changelog, once, where that says nothing
/// of an account; what was a copy of the changelog is of no use any more.
struct CarriedCounts {
    private static let attempts = 120
    private static let signalTime: Int64 = 500_000_000

    let changelog: String
    let settings: EngineSettings
    let log: Log

    func carry(_ state: StateFile) throws {
        let former = try FormerCounts(state)
        if try former.discardCopy() {
            log.info(
                "badge counts of an earlier format are a copy of the changelog: they are left out", [.topic(changelog)])
        }
        let partitions = try TopicPartitions(settings.consumer).count(of: changelog, named: "topics.badge-changelog")
        var counts: [Int32: [[UInt8]: Int32]] = [:]
        try former.forEach { recipient, app, count in
            recipient.withUnsafeBytes { recipient in
                app.withUnsafeBytes { app in
                    var key: [UInt8] = []
                    ChangelogRecord.encodeKey(recipient, app, into: &key)
                    let place = TopicPartition(of: recipient, in: changelog, partitions: partitions)
                    counts[place.partition, default: [:]][key] = count
                }
            }
        }
        guard !counts.isEmpty else { return }
        try leaveOutKnown(&counts)
        let count = counts.values.reduce(0) { $0 + $1.count }
        try publish(counts)
        try former.carried()
        log.info(
            "badge counts of the state file are carried over to the changelog", [.topic(changelog), .count(count)])
    }

    /// Whom the changelog knows has newer counts there.
    private func leaveOutKnown(_ counts: inout [Int32: [[UInt8]: Int32]]) throws {
        let signal = WakeSignal()
        var properties = settings.consumer
        properties["group.instance.id"] = nil
        let reader = try ChangelogReader(changelog, properties, signal: signal, log: { _, _, _ in })
        try reader.replicate(counts.keys.map { ($0, Position.beginning) })
        var open = Set(counts.keys)
        var idle = 0
        while !open.isEmpty {
            var hasSome = false
            _ = reader.poll(limit: 10_000) { event in
                hasSome = true
                switch event {
                case .record(let record):
                    if let key = record.key { counts[record.partition]?[Array(key)] = nil }
                // Not before an open transaction: what is in it is known too.
                case .end(let partition, _, let isWhole): if isWhole { open.remove(partition) }
                case .outOfLog(let partition): open.remove(partition)
                case .failed: break
                }
            }
            if hasSome {
                idle = 0
                continue
            }
            idle += 1
            guard idle < Self.attempts else { throw KafkaError("the changelog cannot be read") }
            signal.wait(nanoseconds: Self.signalTime)
        }
    }

    private func publish(_ counts: [Int32: [[UInt8]: Int32]]) throws {
        var properties = settings.producer
        properties["transactional.id"] = nil
        let changes = counts.flatMap { partition, counts in
            counts.map { RecordEnvelope($0, CountState(count: $1), in: TopicPartition(changelog, partition)) }
        }
        try RecordSender(properties).write(changes)
    }
}

extension RecordSender {
    /// Writes to the changelog from beside the service; returns when all changes are acknowledged.
    func write(_ changes: [RecordEnvelope]) throws(ReplayError) {
        for change in changes { try send(change, as: "a count") }
        _ = settle(patience: 300)
        try check()
    }
}

extension RecordEnvelope {
    /// An account's state as the changelog has it.
    init(_ key: [UInt8], _ state: CountState, in place: TopicPartition) {
        self.init()
        topic = place.topic
        partition = place.partition
        self.key = key
        var value: [UInt8] = []
        ChangelogRecord.encode(state, into: &value)
        payload = value
    }
}
