internal import CRdKafka

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

    /// The first offset the log holds and the one past its last.
    static func watermarks(
        of partition: TopicPartition, _ client: Client, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = rd_kafka_query_watermark_offsets(
            client.handle, partition.topic, partition.partition, &low, &high, milliseconds)
        if let error = KafkaError(ifAny: code) { throw error }
        return (low, high)
    }
}
