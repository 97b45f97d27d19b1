import Glibc
import Kafka
import Push
import Telemetry

/// Carries out verdicts for one thread: a lane's, or the watchdog's.
struct Publisher {
    let outputs: Outputs
    let flow: Flow
    let log: Log
    /// Counted since the last `settle`.
    private var publishedCount = 0
    /// Done without an output.
    private var settled: [InFlightTable.Ticket] = []
    /// Given up, because their partition is no longer ours.
    private var abandoned: [InFlightTable.Ticket] = []
    /// How many slots had been closed when this thread was last told of it.
    let closingsSeen: Int

    init(outputs: Outputs, flow: Flow, log: Log) {
        self.outputs = outputs
        self.flow = flow
        self.log = log
        closingsSeen = flow.closings
    }

    /// False when the result is late: the partition has gone, and another will do the message again.
    mutating func publish(_ verdict: Verdict, of carrier: Carrier) -> Bool {
        guard let item = carrier.item else { return false }
        if flow.closings != closingsSeen, !flow.isOpen(item.slot) {
            abandon(item.ticket)
            return false
        }
        guard verdict.destination != .nowhere else {
            settled.append(item.ticket)
            return true
        }
        publish(verdict, carrier, item.ticket)
        return true
    }

    private mutating func publish(_ verdict: Verdict, _ carrier: Carrier, _ ticket: InFlightTable.Ticket) {
        let delivery = carrier.delivery
        var headers = carrier.takeHeaders()
        delivery.output.forEachRemovedHeader { headers.remove($0) }
        delivery.output.forEachAddedHeader { headers.add($0, $1) }
        let result = delivery.output.withValue { value in
            send(
                to: outputs.topic(for: verdict.destination), key: delivery.record.key, value: value, headers: &headers,
                timestamp: delivery.record.timestamp, tag: DeliveryTag(ticket, verdict))
        }
        switch result {
        case nil:
            publishedCount += 1
        case let error?:
            // Too large even for librdkafka: nothing of its value can be kept, only where it is.
            log.error(
                "a record is too large to be published anywhere; its dead letter has no value",
                [.source("\(delivery.record.source)"), .error(error)])
            let verdict = verdict.asRefused
            _ = send(
                to: outputs.deadLetters, key: nil, value: nil, headers: &headers,
                timestamp: delivery.record.timestamp, tag: DeliveryTag(ticket, verdict))
            publishedCount += 1
        }
    }

    /// Waits while librdkafka's queue is full: that is back-pressure, and the intake feels it next.
    private func send(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: inout Headers, timestamp: Int64, tag: DeliveryTag
    ) -> KafkaError? {
        while true {
            let result = outputs.producer.publish(
                to: topic, key: key, value: value, headers: &headers, timestamp: timestamp, opaque: tag.rawValue)
            switch result {
            case .queued: return nil
            case .refused(let error): return error
            case .full: usleep(1000)
            }
        }
    }

    mutating func abandon(_ ticket: InFlightTable.Ticket) { abandoned.append(ticket) }

    /// Tells the others what was done since the last time; once for each batch. True when the intake waits for room
    /// that there is now.
    mutating func settle() -> Bool {
        if publishedCount > 0 {
            outputs.published(publishedCount)
            publishedCount = 0
        }
        if !abandoned.isEmpty {
            flow.abandon(abandoned)
            abandoned.removeAll(keepingCapacity: true)
        }
        guard !settled.isEmpty else { return false }
        defer { settled.removeAll(keepingCapacity: true) }
        return flow.complete(settled)
    }
}
