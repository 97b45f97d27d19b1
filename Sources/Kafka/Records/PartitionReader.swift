internal import CPushmillRdKafka

/// Reads chosen partitions from chosen offsets, outside any group: it never joins one and never commits. For one
/// thread.
public final class PartitionReader {
    let client: Client
    private let queue: OpaquePointer

    /// Commits nothing itself. `properties` are a consumer's. Batches have `ends` only with `tellsEnds`.
    public init(
        _ properties: ClientProperties, isCommittedOnly: Bool = true, tellsEnds: Bool = false,
        log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        let fixed = [
            ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
            ("isolation.level", isCommittedOnly ? "read_committed" : "read_uncommitted"),
        ]
        client = try Client(RD_KAFKA_CONSUMER, properties.outsideOfGroups(fixed, tellsEnds: tellsEnds), log: log)
        queue = try client.consumerQueue()
    }

    deinit { rd_kafka_queue_destroy(queue) }

    /// From now on reads these, and only these.
    public func read(from positions: [Position]) throws(KafkaError) {
        let list = PartitionList(positions)
        if let error = KafkaError(ifAny: rd_kafka_assign(client.handle, list.pointer)) { throw error }
        client.awaitStops()
    }

    public func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, milliseconds: milliseconds)
    }

    /// The offsets that the log holds. Blocks for a bounded time: librdkafka's own query waits for an absent leader.
    public func range(of partition: TopicPartition, milliseconds: Int32) throws(KafkaError) -> Range<Int64> {
        let low = try offset(since: Position.beginning, in: partition, milliseconds: milliseconds)
        let high = try offset(since: Position.end, in: partition, milliseconds: milliseconds)
        guard let low, let high else { throw KafkaError("the brokers return no offsets of the partition") }
        return low..<max(low, high)
    }

    /// The offsets that the logs hold, without partitions whose leader is unknown or does not answer. Blocks.
    package func ranges(of partitions: Set<TopicPartition>) -> [TopicPartition: Range<Int64>] {
        var all: [TopicPartition: Range<Int64>] = [:]
        client.ranges(of: partitions) { ranges in
            for (partition, range) in ranges { all[partition] = range }
        }
        return all
    }

    /// The first offset whose timestamp is not before `time` (milliseconds since 1970, or an end of the log) in the
    /// brokers' index; nil if they name none. Blocks.
    public func offset(
        since time: Int64, in partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> Int64? {
        let list = PartitionList([Position(partition, offset: time)])
        if let error = KafkaError(ifAny: rd_kafka_offsets_for_times(client.handle, list.pointer, milliseconds)) {
            throw error
        }
        guard let result = list.results.first else { return nil }
        if let error = result.error { throw error }
        return result.position.offset < 0 ? nil : result.position.offset
    }

    /// Takes what is available, or waits for the first of it up to the timeout: full batches under load, no delay when
    /// idle. The caller must destroy every record. One librdkafka call per record: see `GroupConsumer.nextRecord`.
    public func poll(milliseconds: Int32, limit: Int = 1000) -> RecordBatch {
        var batch = RecordBatch()
        for count in 0..<limit {
            guard let message = rd_kafka_consume_queue(queue, count == 0 ? milliseconds : 0) else { break }
            switch message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
                batch.records.append(Record(message, topic: 0))
                continue
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                batch.ends.append((message.pointee.partition, message.pointee.offset, isWhole(message.pointee)))
            default: batch.errors.append((message.pointee.partition, KafkaError(of: message)))
            }
            rd_kafka_message_destroy(message)
        }
        return batch
    }

    /// False if an open transaction precedes the end of the log, as far as the latest fetch knows.
    private func isWhole(_ end: rd_kafka_message_t) -> Bool {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = rd_kafka_get_watermark_offsets(
            client.handle, rd_kafka_topic_name(end.rkt), end.partition, &low, &high)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR && end.offset >= high
    }

    /// How far behind the lowest position of its partition another one may be, to be looked at in the same call.
    private static var span: Int64 { 10_000 }

    /// Looks which records are at positions of one topic, those of each partition in their order, and reads nothing else
    /// any more: what is behind them may wait for the end of a transaction. `answer` gets the record, lent for the call;
    /// nil if the log holds none there. Returns after some 1.5 s at the latest, without answers for distant positions,
    /// for partitions whose leader does not answer, or with an open transaction there. For a reader with `tellsEnds`.
    package func look(at asked: [Position], _ answer: (Position, Record?) -> Void) throws(KafkaError) {
        var left: [Int32: ArraySlice<Position>] = [:]
        for (partition, asked) in Dictionary(grouping: asked, by: \.partition.partition) {
            let sorted = asked.sorted { $0.offset < $1.offset }
            left[partition] = sorted.prefix { $0.offset - sorted[0].offset < Self.span }
        }
        try read(from: left.values.compactMap(\.first))
        // A poll without records waits for 100 ms.
        for _ in 0..<15 where !left.isEmpty {
            let batch = poll(milliseconds: 100)
            for record in batch.records {
                while let position = left[record.partition]?.first, position.offset <= record.offset {
                    left[record.partition]?.removeFirst()
                    answer(position, record.offset == position.offset ? record : nil)
                }
                if left[record.partition]?.isEmpty == true { left[record.partition] = nil }
                record.destroy()
            }
            for end in batch.ends { left.removeValue(forKey: end.partition)?.forEach { answer($0, nil) } }
            // The log may hold the positions behind the first.
            for (partition, error) in batch.errors where error.isOffsetOutOfLog {
                if let position = left.removeValue(forKey: partition)?.first { answer(position, nil) }
            }
        }
        try read(from: [])
    }
}

extension ClientProperties {
    /// The properties of a consumer that joins no group.
    func outsideOfGroups(_ fixed: [(name: String, value: String)], tellsEnds: Bool) -> ClientProperties {
        var properties = overridden(by: fixed)
        properties["enable.partition.eof"] = tellsEnds ? "true" : "false"
        // librdkafka requires a group ID even for a consumer without a group.
        properties["group.id"] = properties["group.id"] ?? "pushmill-reader"
        properties["group.instance.id"] = nil
        return properties
    }
}

/// The result of one poll.
public struct RecordBatch {
    public fileprivate(set) var records: [Record] = []
    /// Where partitions were read to their ends, for a reader with `tellsEnds`: everything before the offset was read,
    /// and nothing follows it yet, or, if not `isWhole`, an open transaction: another end comes after that.
    public fileprivate(set) var ends: [(partition: Int32, offset: Int64, isWhole: Bool)] = []
    /// If a partition's log does not hold the offset to read (`KafkaError.isOffsetOutOfLog`), no more comes from it.
    public fileprivate(set) var errors: [(partition: Int32, error: KafkaError)] = []
}
