package import PushmillKafka
package import PushmillPayload

/// Publishes records to the partition that they name if the topic has it, so the events of a recipient stay in one
/// partition. Brokers refuse a whole batch for one record, so each record is a batch of its own.
package final class RecordSender {
    private let signal = WakeSignal()
    private let producer: OutputProducer
    private var topics: [String: (topic: OutputTopic, partitions: Int)] = [:]
    /// Sent, but not settled yet.
    private var sent: [(name: String, answer: Answer)] = []
    private var answers = 0
    private var refusal: ReplayError?
    /// A failure that concerns more than the record that it was reported for.
    private var failure: ReplayError?

    /// What became of a record.
    package enum Answer: Sendable {
        case acknowledged, unknown
        /// Permanently, and because of the record itself.
        case refused
    }

    package init(_ properties: ClientProperties) throws(ReplayError) {
        var properties = properties
        properties["batch.num.messages"] = "1"
        producer = try asked("sending") { [signal] () throws(KafkaError) in
            try OutputProducer(properties, signal: signal, stopsAtRefusal: false, log: { _, _, _ in })
        }
    }

    /// `name` stands for the record in errors. If the client's queue is full, waits at most `patience` tenths of a
    /// second for the next answer, as `settle` does.
    package func send(
        _ record: RecordEnvelope, as name: String, patience: @autoclosure () -> Int = .max
    ) throws(ReplayError) {
        let (topic, partitions) = try topic(record.topic)
        let partition = Int(record.partition) < partitions ? record.partition : nil
        var waited = 0
        while true {
            switch publish(record, to: topic, partition) {
            case .queued: return sent.append((name, .unknown))
            case .full where waited < patience(): poll(&waited)
            case .full: throw .kafka(doing: "sending \(name)", .unanswered)
            case .refused(let error) where error.blamesRecord:
                sent.append((name, .unknown))
                return take(error, of: sent.count - 1)
            case .refused(let error): throw .kafka(doing: "sending \(name)", producer.fatalError ?? error)
            }
        }
    }

    /// Waits until all that was sent is acknowledged or refused, but at most `patience` tenths of a second for the next
    /// answer; `patience` is evaluated anew after each. Returns the answers in the order of sending.
    package func settle(patience: @autoclosure () -> Int = .max) -> [Answer] {
        var waited = 0
        while answers < sent.count, waited < patience() { poll(&waited) }
        if answers < sent.count { failure = failure ?? .kafka(doing: "sending", .unanswered) }
        answers = 0
        return exchange(&sent, with: []).map(\.answer)
    }

    private func take(_ error: KafkaError?, of number: Int) {
        answers += 1
        guard sent.indices.contains(number) else { return }
        guard let error else { return sent[number].answer = .acknowledged }
        // A producer that has failed returns what it has: why it failed says more.
        let cause = error.blamesRecord ? error : producer.fatalError ?? error
        let problem = ReplayError.kafka(doing: "sending \(sent[number].name)", cause)
        if error.blamesRecord {
            sent[number].answer = .refused
            refusal = refusal ?? problem
        } else {
            failure = failure ?? problem
        }
    }

    /// False if there is no use in sending more.
    package var isUsable: Bool { failure == nil }

    /// Throws the failure or, if there is none, the first refusal of a record.
    package func check() throws(ReplayError) {
        if let problem = failure ?? refusal { throw problem }
    }

    /// `waited` becomes the tenths of a second since the last answer.
    private func poll(_ waited: inout Int) {
        let before = answers
        signal.wait(nanoseconds: 100_000_000)
        producer.takeReports { take($0.error, of: Int(clamping: $0.tag)) }
        waited = answers > before ? 0 : waited + 1
    }

    private func topic(_ name: String) throws(ReplayError) -> (OutputTopic, Int) {
        if let known = topics[name] { return known }
        let found = try asked("requesting the topic \(name)") { () throws(KafkaError) in
            (try producer.topic(name), try producer.partitionCount(of: name, milliseconds: TopicPlaces.patience))
        }
        topics[name] = found
        return found
    }

    private func publish(_ record: RecordEnvelope, to topic: OutputTopic, _ partition: Int32?) -> PublishResult {
        var headers = Headers()
        for header in record.headers {
            header.name.withUnsafeBytes { name in header.value.withBytes { headers.add(name, $0) } }
        }
        return record.key.withBytes { key in
            record.payload.withBytes { value in
                producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &headers,
                    timestamp: record.timestamp, tag: UInt64(sent.count))
            }
        }
    }
}
