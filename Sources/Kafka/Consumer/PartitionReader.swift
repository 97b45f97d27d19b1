internal import CPushmillRdKafka

/// Reads chosen partitions from chosen places, outside of any group: it never joins one and never commits. For one
/// thread.
public final class PartitionReader {
    let client: Client
    private let queue: OpaquePointer
    private let topics = TopicNumbers()

    /// `properties` are a consumer's. A batch has `ends` if they are told.
    public init(
        _ properties: ClientProperties, tellsEnds: Bool = false, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        var properties = properties
        for (name, value) in Consumer.fixed { properties[name] = value }
        // librdkafka wants a name even of a consumer that belongs to nobody.
        properties["group.id"] = properties["group.id"] ?? "pushmill-reader"
        properties["group.instance.id"] = nil
        if tellsEnds { properties["enable.partition.eof"] = "true" }
        let sinks = ClientSinks(log: log)
        client = try Client(RD_KAFKA_CONSUMER, properties: properties, sinks: sinks)
        rd_kafka_poll_set_consumer(client.handle)
        guard let queue = rd_kafka_queue_get_consumer(client.handle) else { throw KafkaError("no consumer queue") }
        self.queue = queue
    }

    deinit { rd_kafka_queue_destroy(queue) }

    /// From now on reads these, and only these.
    public func read(from positions: [Position]) throws(KafkaError) {
        let list = PartitionList(positions)
        if let error = KafkaError(ifAny: rd_kafka_assign(client.handle, list.pointer)) { throw error }
        awaitStops()
    }

    /// librdkafka 2.0.2 ends the process (`rd_kafka_assignment_partition_stopped`) where a partition is taken away again
    /// before it has stopped for the first time. Who asks twice is answered when that is over.
    private func awaitStops() {
        for _ in 0..<2 {
            var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            rd_kafka_assignment(client.handle, &list)
            if let list { rd_kafka_topic_partition_list_destroy(list) }
        }
    }

    public func topicName(_ number: UInt32) -> String { topics.name(number) }

    public func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try Metadata.partitionCount(of: topic, client, milliseconds: milliseconds)
    }

    /// The first offset the log holds and the one past its last. Blocks.
    public func watermarks(
        of partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        try Metadata.watermarks(of: partition, client, milliseconds: milliseconds)
    }

    /// The end of the log as the last fetch has told it, open transactions included: beyond what `ends` and `watermarks`
    /// say while one is open. nil before the first fetch.
    public func fetchedEnd(of partition: TopicPartition) -> Int64? {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = rd_kafka_get_watermark_offsets(client.handle, partition.topic, partition.partition, &low, &high)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
    }

    /// As `Consumer.poll`: every record of the batch must be destroyed by the caller.
    public func poll(milliseconds: Int32, into batch: inout RecordBatch) -> [KafkaError] {
        batch.fill(from: queue, milliseconds: milliseconds, topics)
        return batch.errors
    }

    /// The record at a position; nil when the log does not hold it. Polls that often for one that nobody lends, each
    /// time for so long. To be destroyed by the caller, and before the reader.
    public func fetch(_ position: Position, attempts: Int, milliseconds: Int32) throws(KafkaError) -> Record? {
        try read(from: [position])
        // Nothing beyond it is wanted.
        defer { _ = try? read(from: []) }
        var batch = RecordBatch(capacity: 1)
        for _ in 0..<attempts {
            _ = poll(milliseconds: milliseconds, into: &batch)
            guard let record = batch.records.first else { continue }
            if record.offset == position.offset { return record }
            record.destroy()
            return nil
        }
        throw KafkaError("no broker has lent the record")
    }
}
