internal import CPushmillRdKafka

/// Questions to the cluster that block their caller: never asked on the polling thread.
enum Metadata {
    static func reach(_ client: Client, milliseconds: Int32) -> KafkaError? {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(client.handle, 0, nil, &metadata, milliseconds)
        if let metadata { rd_kafka_metadata_destroy(metadata) }
        return KafkaError(ifAny: code)
    }

    /// The cluster has named a controller that it does not have, as librdkafka's own does: nobody would answer a request
    /// for one. Where none is named one is being elected.
    static func lacksController(_ client: Client, milliseconds: Int32) -> Bool {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(client.handle, 0, nil, &metadata, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { return false }
        defer { rd_kafka_metadata_destroy(metadata) }
        // Asked afterwards: it is answered from what came with the brokers.
        let controller = rd_kafka_controllerid(client.handle, milliseconds)
        guard controller >= 0 else { return false }
        let brokers = UnsafeBufferPointer(start: metadata.pointee.brokers, count: Int(metadata.pointee.broker_cnt))
        return !brokers.contains { $0.id == controller }
    }

    static func partitionCount(of topic: String, _ client: Client, milliseconds: Int32) throws(KafkaError) -> Int {
        guard let handle = rd_kafka_topic_new(client.handle, topic, nil) else {
            throw KafkaError(rd_kafka_last_error())
        }
        defer { rd_kafka_topic_destroy(handle) }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        if let error = KafkaError(ifAny: rd_kafka_metadata(client.handle, 0, handle, &metadata, milliseconds)) {
            throw error
        }
        guard let metadata else { throw KafkaError("no metadata") }
        defer { rd_kafka_metadata_destroy(metadata) }
        guard metadata.pointee.topic_cnt > 0 else { throw KafkaError(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) }
        if let error = KafkaError(ifAny: metadata.pointee.topics[0].err) { throw error }
        return Int(metadata.pointee.topics[0].partition_cnt)
    }

    /// The brokers that lead a topic's partitions; none where that is not known.
    static func leaders(of topic: String, _ client: Client, milliseconds: Int32) -> [(partition: Int32, leader: Int32)]
    {
        guard let handle = rd_kafka_topic_new(client.handle, topic, nil) else { return [] }
        defer { rd_kafka_topic_destroy(handle) }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        guard rd_kafka_metadata(client.handle, 0, handle, &metadata, milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let metadata
        else { return [] }
        defer { rd_kafka_metadata_destroy(metadata) }
        guard metadata.pointee.topic_cnt > 0 else { return [] }
        let first = metadata.pointee.topics[0]
        return UnsafeBufferPointer(start: first.partitions, count: Int(first.partition_cnt)).map { ($0.id, $0.leader) }
    }

    /// The first offset the log holds and the one past its last. librdkafka's own question for both waits for as long as
    /// the partition's leader is away.
    static func watermarks(
        of partition: TopicPartition, _ client: Client, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        let low = try offset(since: Position.beginning, in: partition, client, milliseconds: milliseconds)
        let high = try offset(since: Position.end, in: partition, client, milliseconds: milliseconds)
        guard let low, let high else { throw KafkaError("the brokers do not tell where a partition ends") }
        return (low, max(low, high))
    }

    /// The first offset whose timestamp is not before `time` (milliseconds since 1970, or an end of the log), as the
    /// brokers' index has it; nil where they name none.
    static func offset(
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
