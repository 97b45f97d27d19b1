import PushmillKafka
import PushmillPayload

/// Publishes letters to where they came from: the same partition, as long as the topic has it, so that a recipient's
/// events stay in one.
final class RedriveSender {
    private let producer: Producer
    private var topics: [String: (topic: ProducerTopic, partitions: Int)] = [:]
    /// Sent and not settled yet.
    private var waiting: [RecordEnvelope] = []
    private var reports: [DeliveryReport] = []
    private var isAcknowledged: [Bool] = []
    private var answers = 0
    private var failure: KafkaError?

    init(_ properties: ClientProperties) throws(ReplayError) {
        producer = try asked("sending") { () throws(KafkaError) in try Producer(properties, log: { _, _, _ in }) }
    }

    func send(_ letter: DeadLetter) throws(ReplayError) {
        let record = letter.restored
        let (topic, partitions) = try topic(record.topic)
        let partition = Int(record.partition) < partitions ? record.partition : nil
        while true {
            switch publish(record, to: topic, partition, number: UInt64(waiting.count)) {
            case .queued:
                waiting.append(letter.record)
                isAcknowledged.append(false)
                return
            case .full: poll()
            case .refused(let error): throw .kafka(doing: "sending \(letter.record.place)", error)
            }
        }
    }

    /// Waits until all that was sent is acknowledged or refused; gives the letters that are acknowledged.
    func settle() -> [RecordEnvelope] {
        while answers < waiting.count { poll() }
        defer {
            waiting.removeAll()
            isAcknowledged.removeAll()
            answers = 0
        }
        return zip(waiting, isAcknowledged).compactMap { $1 ? $0 : nil }
    }

    /// Throws what a letter was refused for.
    func check() throws(ReplayError) {
        if let failure { throw .kafka(doing: "sending", failure) }
    }

    private func poll() {
        producer.poll(milliseconds: 100, into: &reports)
        for report in reports {
            answers += 1
            if let error = report.error {
                failure = error
            } else if let index = Int(exactly: report.opaque), isAcknowledged.indices.contains(index) {
                isAcknowledged[index] = true
            }
        }
    }

    private func topic(_ name: String) throws(ReplayError) -> (ProducerTopic, Int) {
        if let known = topics[name] { return known }
        let found = try asked("asking for the topic \(name)") { () throws(KafkaError) in
            (try producer.topic(name), try producer.partitionCount(of: name, milliseconds: TopicPlaces.patience))
        }
        topics[name] = found
        return found
    }

    private func publish(
        _ record: RecordEnvelope, to topic: ProducerTopic, _ partition: Int32?, number: UInt64
    ) -> PublishResult {
        var headers = Headers()
        for header in record.headers {
            header.name.withUnsafeBytes { name in lend(header.value) { headers.add(name, $0) } }
        }
        return lend(record.key) { key in
            lend(record.payload) { value in
                producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &headers,
                    timestamp: record.timestamp, opaque: number)
            }
        }
    }
}

private func lend<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
    guard let bytes else { return body(nil) }
    return bytes.withUnsafeBytes { body($0) }
}
