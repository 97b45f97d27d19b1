import PushmillEngine
import PushmillKafka
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
        let records = counts.flatMap { partition, counts in
            counts.map { key, count in
                var value: [UInt8] = []
                ChangelogRecord.encode(CountState(count: count), into: &value)
                return ChangelogWriter.Change(partition: partition, key: key, value: value)
            }
        }
        try ChangelogWriter(changelog, properties).write(records)
    }
}

/// Writes to the changelog from beside the service.
struct ChangelogWriter {
    struct Change {
        let partition: Int32
        let key: [UInt8]
        let value: [UInt8]
    }

    private static let attempts = 60

    private let producer: Producer
    private let topic: ProducerTopic

    init(_ name: String, _ properties: ClientProperties) throws(KafkaError) {
        producer = try Producer(properties, log: { _, _, _ in })
        topic = try producer.topic(name)
    }

    /// Returns when all of them are acknowledged.
    func write(_ changes: [Change]) throws(KafkaError) {
        var answers = 0
        for change in changes {
            while try !publish(change) { try take(&answers) }
        }
        var attempt = 0
        while answers < changes.count {
            let before = answers
            try take(&answers)
            attempt = answers > before ? 0 : attempt + 1
            guard attempt < Self.attempts else { throw .unanswered }
        }
    }

    private func take(_ answers: inout Int) throws(KafkaError) {
        var reports: [DeliveryReport] = []
        producer.poll(milliseconds: 500, into: &reports)
        answers += reports.count
        if let error = reports.lazy.compactMap(\.error).first { throw error }
    }

    /// False where there is no room.
    private func publish(_ change: Change) throws(KafkaError) -> Bool {
        var headers = Headers()
        let result = change.key.withUnsafeBytes { key in
            change.value.withUnsafeBytes { value in
                producer.publish(
                    to: topic, partition: change.partition, key: key, value: value, headers: &headers, timestamp: 0,
                    opaque: 0)
            }
        }
        switch result {
        case .queued: return true
        case .full: return false
        case .refused(let error): throw error
        }
    }
}
