internal import CPushmillRdKafka

/// The records of one poll, in a buffer that is used again for the next.
public struct RecordBatch: ~Copyable {
    public private(set) var records: [Record] = []
    private let slots: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    /// Where partitions were read to their ends, of a reader that is told of it.
    public private(set) var ends: [PartitionEnd] = []
    private(set) var errors: [KafkaError] = []

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
        // The waiting call comes first: one that does not wait would take the wake-up that is meant for it.
        guard let first = rd_kafka_consume_queue(queue, milliseconds) else { return }
        slots[0] = first
        let rest = slots.baseAddress.map { rd_kafka_consume_batch_queue(queue, 0, $0 + 1, slots.count - 1) }
        let count = 1 + max(0, rest ?? 0)
        for index in 0..<count {
            guard let message = slots[index] else { continue }
            switch message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
                records.append(Record(message, topic: topics.number(of: message.pointee.rkt)))
                continue
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                ends.append(PartitionEnd(partition: message.pointee.partition, offset: message.pointee.offset))
            case let code:
                let text = rd_kafka_message_errstr(message).map { String(cString: $0) }
                errors.append(KafkaError(code, message: text))
            }
            rd_kafka_message_destroy(message)
        }
    }
}

/// Everything before the offset was read, and nothing is there beyond it yet.
public struct PartitionEnd: Sendable {
    public let partition: Int32
    public let offset: Int64
}
