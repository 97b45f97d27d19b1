package import PushmillKafka
package import PushmillPayload

/// Publishes records to the partition that they name if the topic has it, so the events of a recipient stay in one
/// partition.
package final class RecordSender {
    private let signal = WakeSignal()
    private let producer: OutputProducer
    private var topics: [String: (topic: OutputTopic, partitions: Int)] = [:]
    /// Sent, but not settled yet.
    private var sent: [Sent] = []
    private var answers = 0
    private var refusal: ReplayError?
    /// A failure that concerns more than the record that it was reported for.
    private var failure: ReplayError?

    private struct Sent {
        let record: RecordEnvelope
        let name: String
        var isAcknowledged = false
        var error: KafkaError?

        var isRefused: Bool { error?.blamesRecord ?? false }
    }

    /// What became of a record.
    package enum Answer: Sendable {
        case acknowledged, unknown
        /// Permanently, and because of the record itself.
        case refused
    }

    package init(_ properties: ClientProperties) throws(ReplayError) {
        producer = try asked("sending") { [signal] () throws(KafkaError) in
            try OutputProducer(properties, signal: signal, stopsAtRefusal: false, log: { _, _, _ in })
        }
    }

    /// `name` stands for the record in errors. If the client's queue is full, waits at most `patience` tenths of a
    /// second for the next answer, as `settle` does.
    package func send(
        _ record: RecordEnvelope, as name: String, patience: @autoclosure () -> Int = .max
    ) throws(ReplayError) {
        let error = try queue(record, as: name, number: sent.count, patience)
        sent.append(Sent(record: record, name: name, error: error))
        if error != nil { answers += 1 }
    }

    /// Returns the client's own objection to the record; nil if the record is queued.
    private func queue(
        _ record: RecordEnvelope, as name: String, number: Int, _ patience: () -> Int
    ) throws(ReplayError) -> KafkaError? {
        let (topic, partitions) = try topic(record.topic)
        let partition = Int(record.partition) < partitions ? record.partition : nil
        var waited = 0
        while true {
            switch publish(record, to: topic, partition, number: UInt64(number)) {
            case .queued: return nil
            case .full:
                guard waited < patience() else { throw .kafka(doing: "sending \(name)", .unanswered) }
                poll(&waited)
            case .refused(let error) where error.blamesRecord: return error
            case .refused(let error): throw .kafka(doing: "sending \(name)", producer.fatalError ?? error)
            }
        }
    }

    /// Waits until all that was sent is acknowledged or refused, but at most `patience` tenths of a second for the next
    /// answer; `patience` is evaluated anew after each. Returns the answers in the order of sending. One record makes
    /// brokers refuse its whole batch: each refused record is sent once more, alone, if there were others.
    package func settle(patience: @autoclosure () -> Int = .max) -> [Answer] {
        wait(patience())
        if sent.count > 1 {
            for (index, item) in sent.enumerated() where item.isRefused && answers == sent.count && failure == nil {
                sendAgain(item, at: index, patience)
                wait(patience())
            }
        }
        if answers < sent.count { failure = failure ?? .kafka(doing: "sending", .unanswered) }
        let settled = sent.map { answer(to: $0) }
        sent.removeAll()
        answers = 0
        return settled
    }

    private func wait(_ patience: @autoclosure () -> Int) {
        var waited = 0
        while answers < sent.count, waited < patience() { poll(&waited) }
    }

    private func sendAgain(_ item: Sent, at index: Int, _ patience: () -> Int) {
        do throws(ReplayError) {
            let error = try queue(item.record, as: item.name, number: index, patience)
            sent[index].error = error
            if error == nil { answers -= 1 }
        } catch {
            failure = error
        }
    }

    private func answer(to item: Sent) -> Answer {
        guard let error = item.error else { return item.isAcknowledged ? .acknowledged : .unknown }
        let problem = ReplayError.kafka(doing: "sending \(item.name)", error)
        // After a failure the record may not have been sent alone.
        guard item.isRefused, failure == nil else {
            failure = failure ?? problem
            return .unknown
        }
        refusal = refusal ?? problem
        return .refused
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
        producer.takeReports { report in
            answers += 1
            guard let index = Int(exactly: report.tag), sent.indices.contains(index) else { return }
            sent[index].error = report.error
            sent[index].isAcknowledged = report.error == nil
        }
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
