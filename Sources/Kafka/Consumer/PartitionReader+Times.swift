extension PartitionReader {
    /// The first offset whose timestamp is not before `time` (milliseconds since 1970), as the brokers' index has it; nil
    /// where they name none. Blocks.
    public func offset(
        since time: Int64, in partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> Int64? {
        try Metadata.offset(since: time, in: partition, client, milliseconds: milliseconds)
    }
}
