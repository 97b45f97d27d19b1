package import PushmillKafka
package import PushmillPayload

/// Publishes records where they say: to the partition, as long as the topic has it, so that a recipient's events stay in
/// one.
package final class RecordSender {
    private let signal = WakeSignal()
    private let producer: OutputProducer
    private var topics: [String: (topic: OutputTopic, partitions: Int)] = [:]
    /// For each record that is sent and not settled yet.
    private var isAcknowledged: [Bool] = []
    private var answers = 0
    private var failure: KafkaError?

    package init(_ properties: ClientProperties) throws(ReplayError) {
        producer = try asked("sending") { [signal] () throws(KafkaError) in
            try OutputProducer(properties, signal: signal, stopsAtRefusal: false, log: { _, _, _ in })
        }
    }

    /// `name` is what errors call the record.
    package func send(_ record: RecordEnvelope, as name: String) throws(ReplayError) {
        let (topic, partitions) = try topic(record.topic)
        let partition = Int(record.partition) < partitions ? record.partition : nil
        while true {
            switch publish(record, to: topic, partition, number: UInt64(isAcknowledged.count)) {
            case .queued: return isAcknowledged.append(false)
            case .full: poll()
            case .refused(let error): throw .kafka(doing: "sending \(name)", producer.fatalError ?? error)
            }
        }
    }

    /// Waits until all that was sent is acknowledged or refused, and no longer than so many tenths of a second for the next
    /// answer, which is asked for anew after each; says of each record whether it is acknowledged, in the order of sending.
    package func settle(patience: @autoclosure () -> Int = .max) -> [Bool] {
        var waited = 0
        while answers < isAcknowledged.count, waited < patience() {
            let before = answers
            poll()
            waited = answers > before ? 0 : waited + 1
        }
        if answers < isAcknowledged.count { failure = failure ?? .unanswered }
        defer {
            isAcknowledged.removeAll()
            answers = 0
        }
        return isAcknowledged
    }

    /// Throws what a record was refused for.
    package func check() throws(ReplayError) {
        if let failure { throw .kafka(doing: "sending", failure) }
    }

    private func poll() {
        signal.wait(nanoseconds: 100_000_000)
        producer.takeReports { report in
            answers += 1
            if let error = report.error {
                failure = error
            } else if let index = Int(exactly: report.tag), isAcknowledged.indices.contains(index) {
                isAcknowledged[index] = true
            }
        }
    }

    private func topic(_ name: String) throws(ReplayError) -> (OutputTopic, Int) {
        if let known = topics[name] { return known }
        let found = try asked("asking for the topic \(name)") { () throws(KafkaError) in
            (try producer.topic(name), try producer.partitionCount(of: name, milliseconds: TopicPlaces.patience))
        }
        topics[name] = found
        return found
    }

    private func publish(
        _ record: RecordEnvelope, to topic: OutputTopic, _ partition: Int32?, number: UInt64
    ) -> PublishResult {
        var headers = Headers()
        for header in record.headers {
            header.name.withUnsafeBytes { name in header.value.withBytes { headers.add(name, $0) } }
        }
        return record.key.withBytes { key in
            record.payload.withBytes { value in
                producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &headers,
                    timestamp: record.timestamp, tag: number)
            }
        }
    }
}
