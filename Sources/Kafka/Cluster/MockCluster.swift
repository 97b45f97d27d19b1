internal import CPushmillRdKafka

/// librdkafka's own broker, in this process, speaking Kafka's protocol on loopback. It keeps 5 MB a partition, creates
/// topics when asked for them, and forgets everything when it goes.
public final class MockCluster: Sendable {
    private let client: Client
    nonisolated(unsafe) private let handle: OpaquePointer
    public let bootstrapServers: String

    public init(brokers: Int = 1) throws(KafkaError) {
        client = try Client(RD_KAFKA_PRODUCER, ClientProperties(), log: { _, _, _ in })
        guard let handle = rd_kafka_mock_cluster_new(client.handle, Int32(clamping: brokers)) else {
            throw KafkaError("the embedded broker could not be started")
        }
        self.handle = handle
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(handle))
    }

    deinit { rd_kafka_mock_cluster_destroy(handle) }

    public func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
        let code = rd_kafka_mock_topic_create(handle, name, Int32(clamping: partitions), 1)
        if let error = KafkaError(ifAny: code) { throw error }
    }

    /// The next requests of this kind, on any broker, fail with these codes of Kafka's protocol, in turn.
    public func failRequests(_ request: Request, with codes: [Int32]) {
        let codes = codes.map { rd_kafka_resp_err_t(rawValue: $0) }
        rd_kafka_mock_push_request_errors_array(handle, request.rawValue, codes.count, codes)
    }

    /// The next `count` of this kind on one broker.
    public func failRequests(_ request: Request, of broker: Int32, with code: Int32, count: Int32) {
        pushmill_mock_fail(handle, broker, request.rawValue, rd_kafka_resp_err_t(rawValue: code), count)
    }

    public func clearFailures(of request: Request) { rd_kafka_mock_clear_request_errors(handle, request.rawValue) }

    /// -1 is every broker.
    public func setDown(broker: Int32 = -1) { _ = rd_kafka_mock_broker_set_down(handle, broker) }

    public func setUp(broker: Int32 = -1) { _ = rd_kafka_mock_broker_set_up(handle, broker) }

    public func setRoundTrip(milliseconds: Int32, broker: Int32 = -1) {
        _ = rd_kafka_mock_broker_set_rtt(handle, broker, milliseconds)
    }

    /// -1 is no broker.
    public func setLeader(of partition: TopicPartition, broker: Int32) {
        rd_kafka_mock_partition_set_leader(handle, partition.topic, partition.partition, broker)
    }

    /// Where the group's coordinator is from now on.
    public func setCoordinator(ofGroup group: String, broker: Int32) {
        rd_kafka_mock_coordinator_set(handle, "group", group, broker)
    }

    public func setTopicError(_ topic: String, code: Int32) {
        rd_kafka_mock_topic_set_error(handle, topic, rd_kafka_resp_err_t(rawValue: code))
    }

    /// Kinds of request, by their numbers in Kafka's protocol.
    public enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case offsetCommit = 8
        case offsetFetch = 9
        case heartbeat = 12
        case initProducerID = 22
        case addPartitionsToTransaction = 24
        case addOffsetsToTransaction = 25
        case endTransaction = 26
        case transactionalOffsetCommit = 28
    }
}
