internal import CPushmillRdKafka
package import PushmillKafka

/// Faults of librdkafka's mock brokers.
extension MockCluster {
    /// The next requests of this kind, on any broker, fail with these Kafka error codes, one code each, in order.
    package func failRequests(_ request: Request, with codes: [Int32]) {
        let codes = codes.map { rd_kafka_resp_err_t(rawValue: $0) }
        rd_kafka_mock_push_request_errors_array(handle, request.rawValue, codes.count, codes)
    }

    /// The next `count` requests of this kind fail on one broker.
    package func failRequests(_ request: Request, of broker: Int32, with code: Int32, count: Int32) {
        pushmill_mock_fail(handle, broker, request.rawValue, rd_kafka_resp_err_t(rawValue: code), count)
    }

    package func clearFailures(of request: Request) { rd_kafka_mock_clear_request_errors(handle, request.rawValue) }

    /// -1 means every broker.
    package func setDown(broker: Int32 = -1) { _ = rd_kafka_mock_broker_set_down(handle, broker) }

    package func setUp(broker: Int32 = -1) { _ = rd_kafka_mock_broker_set_up(handle, broker) }

    package func setRoundTrip(milliseconds: Int32, broker: Int32 = -1) {
        _ = rd_kafka_mock_broker_set_rtt(handle, broker, milliseconds)
    }

    /// -1 leaves the partition without a leader.
    package func setLeader(of partition: TopicPartition, broker: Int32) {
        rd_kafka_mock_partition_set_leader(handle, partition.topic, partition.partition, broker)
    }

    /// Moves the group's coordinator to this broker.
    package func setCoordinator(ofGroup group: String, broker: Int32) {
        rd_kafka_mock_coordinator_set(handle, "group", group, broker)
    }

    package func setTopicError(_ topic: String, code: Int32) {
        rd_kafka_mock_topic_set_error(handle, topic, rd_kafka_resp_err_t(rawValue: code))
    }

    /// The raw values are the API keys of Kafka's protocol.
    package enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case heartbeat = 12
        case initProducerID = 22
        case addPartitionsToTransaction = 24
        case addOffsetsToTransaction = 25
        case endTransaction = 26
        case transactionalOffsetCommit = 28
    }
}
