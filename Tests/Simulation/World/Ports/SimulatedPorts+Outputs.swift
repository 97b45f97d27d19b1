package import PushmillEngine
import PushmillKafka

extension SimulatedPorts {
    package typealias Output = SimulatedOutput

    func newProducer() -> ProducerClient {
        ProducerClient(node, transactionalName: transactionalName) { [weak self] outgoing, fate in
            self?.settled(outgoing, fate)
        }
    }

    private func settled(_ outgoing: Outgoing, _ fate: ProducerClient.Fate) {
        switch fate {
        case .stored(let offset): reports.append(OutputReport(tag: outgoing.tag, offset: offset))
        case .refused(.timedOut):
            reports.append(
                OutputReport(
                    tag: outgoing.tag, failure: .unavailable(reason: "timed out"), returned: outgoing.output))
        case .refused(let refusal):
            reports.append(
                OutputReport(
                    tag: outgoing.tag, failure: .refused(reason: "\(refusal)"), returned: outgoing.output))
        case .purged:
            reports.append(OutputReport(tag: outgoing.tag, failure: .purged, returned: outgoing.output))
        }
        hasNews()
    }

    package func publish(tag: UInt64) -> PublishAnswer {
        guard let current else {
            witness.broken("nothing is current to be published", by: self)
            return .refused(reason: "nothing")
        }
        return publish(current, tag: tag)
    }

    package func holdCurrent() -> SimulatedOutput {
        guard let current else {
            witness.broken("nothing is current to be held", by: self)
            return SimulatedOutput(value: OutputValue(event: -1, recipient: 0, topic: 0, partition: 0, offset: 0))
        }
        return current
    }

    package func publish(_ output: SimulatedOutput, tag: UInt64) -> PublishAnswer {
        elapsed += 1_000
        guard let producer, !producer.hasFailed, canSend else { return .later }
        if output.refuser == .client { return .refused(reason: "too large") }
        let topic = output.value.isLetter ? Topics.letters : Topics.output
        let logs = cluster.logs[topic]
        let key = output.isNameOnly ? Int32(truncatingIfNeeded: output.value.offset) : output.value.recipient
        let log = logs[Int(UInt32(bitPattern: key) &* 2_654_435_761 >> 8) % logs.count]
        let record = NewRecord(.output(output.value), refusal: output.refuser == .brokers ? .invalidRecord : nil)
        timeline.note(number, .publish, Int64(output.value.event), Int64(output.value.badge))
        if !owns(output.value) {
            witness.broken("event \(output.value.event) is published, and its partition was given back", by: self)
        }
        return producer.send(Outgoing(tag: tag, record: record, output: output), to: log) ? .queued : .later
    }

    /// With transactions, a record can be sent only within one.
    private var canSend: Bool { transactionalName == nil || producer?.isInTransaction == true }

    package func publishChange(
        partition: Int32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, timestamp: Int64, tag: UInt64
    ) -> PublishAnswer {
        guard let producer, !producer.hasFailed, canSend else { return .later }
        let record = NewRecord(.change(key: Array(key), value: value.map { Array($0) }), timestamp: timestamp)
        let log = cluster.logs[Topics.changelog][Int(partition)]
        return producer.send(Outgoing(tag: tag, record: record, output: nil), to: log) ? .queued : .later
    }

    package func refuseCurrent(reason: String, isCounted: Bool) { current?.refuse() }

    package func ask(for request: LetterRequest) {
        let source = request.source
        guard let log = cluster.log(source.partition) else { return }
        fetching.request(patience: .milliseconds(300)) { _ -> PartitionLog.Entry?? in
            log.isLeaderAway ? nil : .some(log.entry(at: source.offset))
        } _: { [weak self] (answer: PartitionLog.Entry??) in
            guard let self else { return }
            guard let answer else {
                return node.after(.milliseconds(50)) { [weak self] in self?.ask(for: request) }
            }
            var letter = SimulatedOutput(
                value: OutputValue(
                    event: -1, recipient: 0, topic: log.topic, partition: log.partition, offset: source.offset,
                    isLetter: true),
                isNameOnly: request.isNameOnly)
            // In a log that has lost its end another record may have the offset.
            if let answer, answer.timestamp == request.timestamp, case .event(let event) = answer.content {
                letter.value.event = event
                letter.value.recipient = events[Int(event)].recipient
                letter.letterRefuser = events[Int(event)].letterRefuser
            }
            letters.append((request.tag, letter))
            hasNews()
        }
    }

    package func takeLetters() -> [(tag: UInt64, output: SimulatedOutput)] {
        defer { letters = [] }
        return letters
    }

    package func takeReports(into reports: inout [OutputReport<SimulatedOutput>]) {
        reports.append(contentsOf: self.reports)
        self.reports.removeAll(keepingCapacity: true)
    }

    package func purge(all: Bool) {
        timeline.note(number, .purge, all ? 1 : 0, Int64(producer?.inFlight ?? 0))
        if producer?.purge(all: all) == true { witness.troubled("outputs are purged", by: self) }
    }

    func loseReports() { producer?.losesNext = transactionalName != nil }

    package var hasProducerFailed: Bool { producer?.hasFailed ?? true }

    package func replaceProducer() -> Bool {
        guard !dice.chance(switches.failures * 4) else { return false }
        timeline.note(number, .replaced)
        witness.troubled("a producer is replaced", by: self)
        producer?.abandon()
        producer = newProducer()
        reports.removeAll(keepingCapacity: true)
        return true
    }

    package func flush() { producer?.flush() }
}
