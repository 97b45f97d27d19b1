internal import CRdKafka

/// Questions about what a partition's log holds; they block their caller.
enum Offsets {
    static func watermarks(
        of partition: TopicPartition, _ client: Client, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = rd_kafka_query_watermark_offsets(
            client.handle, partition.topic, partition.partition, &low, &high, milliseconds)
        if let error = KafkaError(ifAny: code) { throw error }
        return (low, high)
    }

    static func first(
        since time: Int64, in partition: TopicPartition, _ client: Client, milliseconds: Int32
    ) throws(KafkaError) -> Int64? {
        let list = PartitionList([Position(partition, offset: time)])
        if let error = KafkaError(ifAny: rd_kafka_offsets_for_times(client.handle, list.pointer, milliseconds)) {
            throw error
        }
        guard let result = list.results.first else { return nil }
        if let error = result.error { throw error }
        return result.position.offset < 0 ? nil : result.position.offset
    }
}

extension PartitionReader {
    /// The first offset the log holds and the one past its last that is committed. Blocks.
    public func watermarks(
        of partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        try Offsets.watermarks(of: partition, client, milliseconds: milliseconds)
    }

    /// The first offset whose timestamp is not before `time` (milliseconds since 1970), as the brokers' index has it; nil
    /// where they name none. Blocks.
    public func offset(
        since time: Int64, in partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> Int64? {
        try Offsets.first(since: time, in: partition, client, milliseconds: milliseconds)
    }
}
