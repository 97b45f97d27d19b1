internal import CRdKafka

/// The records of one poll, in a buffer that is used again for the next.
public struct RecordBatch: ~Copyable {
    public private(set) var records: [Record] = []
    let slots: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    private(set) var errors: [KafkaError] = []

    public init(capacity: Int) {
        slots = .allocate(capacity: max(1, capacity))
        slots.initialize(repeating: nil)
        records.reserveCapacity(slots.count)
    }

    deinit { slots.deallocate() }

    mutating func begin() {
        records.removeAll(keepingCapacity: true)
        errors.removeAll(keepingCapacity: true)
    }

    mutating func append(_ record: Record) { records.append(record) }

    mutating func append(_ error: KafkaError) { errors.append(error) }
}
