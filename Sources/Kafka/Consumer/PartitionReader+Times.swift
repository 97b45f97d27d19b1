internal import CRdKafka

extension PartitionReader {
    /// The first offset whose timestamp is not before `time` (milliseconds since 1970), as the brokers' index has it; nil
    /// where they name none. Blocks.
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
}
