internal import CPushmillRdKafka

/// What a transactional producer has to tell, as events: librdkafka then calls nobody back within the calls that end a
/// transaction, which wait for every report to be taken here. For the thread that polls.
final class ProducerEvents: Sendable {
    static let enabled = RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_ERROR

    nonisolated(unsafe) private let queue: OpaquePointer

    init(_ client: Client) throws(KafkaError) {
        guard let queue = rd_kafka_queue_get_main(client.handle) else { throw KafkaError("no queue for reports") }
        self.queue = queue
    }

    deinit { rd_kafka_queue_destroy(queue) }

    /// Waits for the first event up to the time-out and takes all that are there.
    func serve(milliseconds: Int32, _ sinks: ClientSinks) {
        var patience = milliseconds
        while let event = rd_kafka_queue_poll(queue, patience) {
            take(event, sinks)
            rd_kafka_event_destroy(event)
            patience = 0
        }
    }

    private func take(_ event: OpaquePointer, _ sinks: ClientSinks) {
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            while let message = rd_kafka_event_message_next(event) {
                sinks.deliveries.reports.append(DeliveryReport(message))
            }
        case RD_KAFKA_EVENT_STATS:
            if let text = rd_kafka_event_stats(event) {
                sinks.statistics.take(Array(String(cString: text).utf8))
            }
        // Errors: the log has told of them.
        default: break
        }
    }
}
