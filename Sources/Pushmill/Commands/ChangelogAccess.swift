import Glibc
import Kafka
import Push
import Replay
import Stores

/// The counts of a service that delivers exactly once: what its changelog says.
struct ChangelogAccess {
    private static let attempts = 60

    private let configuration: Configuration
    private let topic: String
    private let console: Console
    private let partitions: Int

    /// nil where counts are in the embedded state.
    init?(_ configuration: Configuration, _ console: Console) throws(ProgramError) {
        guard let topic = configuration.changelogTopic else { return nil }
        self.configuration = configuration
        self.topic = topic
        self.console = console
        let range = TopicRange(topic: topic)
        partitions = try configuration.read(range).ends.count
    }

    /// The partition of a recipient's events, whose key is the recipient unless it is named.
    func place(of recipient: String, named: Int?) throws(ProgramError) -> TopicPartition {
        if let named {
            guard (0..<partitions).contains(named) else {
                throw .usage("the topic \(topic) has \(partitions) partitions, numbered from 0")
            }
            return TopicPartition(topic, Int32(clamping: named))
        }
        return Array(recipient.utf8).withUnsafeBytes { TopicPartition(of: $0, in: topic, partitions: partitions) }
    }

    /// What the partition's records come to.
    func view(of place: TopicPartition) async throws(ProgramError) -> ChangelogView {
        var range = TopicRange(topic: topic)
        range.partitions = [place.partition]
        let records = try configuration.read(range)
        var view = ChangelogView()
        while true {
            let batch: [RecordEnvelope]
            do throws(ReplayError) {
                batch = try await records.next(10_000)
            } catch {
                throw ProgramError(error)
            }
            if batch.isEmpty { return view }
            for record in batch {
                do throws(ChangelogRecord.Malformed) {
                    try view.apply(key: record.key, value: record.payload)
                } catch {
                    console.error("warning: \(place)/\(record.offset) is no count: \(error.what)")
                }
            }
        }
    }

    /// A partition after the other, so that no more than one is in memory.
    func export(_ print: ([UInt8]) -> Void) async throws(ProgramError) {
        for partition in 0..<Int32(clamping: partitions) {
            _ = try await view(of: TopicPartition(topic, partition)).exportLines(print)
        }
    }

    func set(_ recipient: RawSpan, _ app: RawSpan, to count: Int32, in place: TopicPartition) throws(ProgramError) {
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        ChangelogRecord.appendKey(recipient, app, to: &key)
        let hasValue = ChangelogRecord.appendValue(count, to: &value)
        try publish([(key, hasValue ? value : nil)], to: place)
    }

    func delete(_ keys: [[UInt8]], in place: TopicPartition) throws(ProgramError) {
        try publish(keys.map { ($0, nil) }, to: place)
    }

    private func publish(_ records: [(key: [UInt8], value: [UInt8]?)], to place: TopicPartition) throws(ProgramError) {
        do throws(KafkaError) {
            let producer = try Producer(configuration.plainProducer, log: { _, _, _ in })
            let topic = try producer.topic(topic)
            for record in records { try publish(record, to: topic, place.partition, producer) }
            try settle(records.count, producer)
        } catch {
            throw .internalFailure("\(place) cannot be written: \(error)")
        }
    }

    private func publish(
        _ record: (key: [UInt8], value: [UInt8]?), to topic: ProducerTopic, _ partition: Int32, _ producer: Producer
    ) throws(KafkaError) {
        var headers = Headers()
        let result = record.key.withUnsafeBytes { key in
            func publish(_ value: UnsafeRawBufferPointer?) -> PublishResult {
                producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &headers, timestamp: 0,
                    opaque: 0)
            }
            return record.value?.withUnsafeBytes(publish) ?? publish(nil)
        }
        if case .refused(let error) = result { throw error }
    }

    /// Waits for so many answers.
    private func settle(_ count: Int, _ producer: Producer) throws(KafkaError) {
        var answers = 0
        var reports: [DeliveryReport] = []
        for _ in 0..<Self.attempts where answers < count {
            producer.poll(milliseconds: 500, into: &reports)
            answers += reports.count
            if let error = reports.lazy.compactMap(\.error).first { throw error }
        }
        guard answers >= count else { throw .unanswered }
    }
}
