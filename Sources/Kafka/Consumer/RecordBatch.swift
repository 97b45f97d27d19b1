internal import CRdKafka

/// The records of one poll, in a buffer that is used again for the next.
public struct RecordBatch: ~Copyable {
    public private(set) var records: [Record] = []
    private let slots: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    private(set) var errors: [KafkaError] = []
    /// Partitions that have been read to their end, where the reader was made to tell.
    public private(set) var ends: [TopicPartition] = []

    public init(capacity: Int) {
        slots = .allocate(capacity: max(1, capacity))
        slots.initialize(repeating: nil)
        records.reserveCapacity(slots.count)
    }

    deinit { slots.deallocate() }

    /// Takes what is in the queue, or waits for the first record up to the time-out: full batches under load, no delay
    /// when idle.
    mutating func fill(from queue: OpaquePointer, milliseconds: Int32, _ topics: TopicNumbers) {
        records.removeAll(keepingCapacity: true)
        errors.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        var count = max(0, rd_kafka_consume_batch_queue(queue, 0, slots.baseAddress, slots.count))
        if count == 0, let first = rd_kafka_consume_queue(queue, milliseconds) {
            slots[0] = first
            // It seldom comes alone, and small batches cost everyone behind a wake-up each.
            let rest = slots.baseAddress.map { rd_kafka_consume_batch_queue(queue, 0, $0 + 1, slots.count - 1) }
            count = 1 + max(0, rest ?? 0)
        }
        for index in 0..<count {
            guard let message = slots[index] else { continue }
            switch message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
                records.append(Record(message, topic: topics.number(of: message.pointee.rkt)))
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                let topic = topics.name(topics.number(of: message.pointee.rkt))
                ends.append(TopicPartition(topic, message.pointee.partition))
                rd_kafka_message_destroy(message)
            default:
                let text = rd_kafka_message_errstr(message).map { String(cString: $0) }
                errors.append(KafkaError(message.pointee.err, message: text))
                rd_kafka_message_destroy(message)
            }
        }
    }
}
