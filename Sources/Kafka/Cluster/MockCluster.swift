internal import CPushmillRdKafka

/// librdkafka's own mock broker, in this process, which speaks Kafka's protocol on loopback. It keeps 5 MB per
/// partition, creates topics when they are asked for, and loses everything when it is destroyed.
public final class MockCluster: Sendable {
    private let client: Client
    /// An `rd_kafka_mock_cluster_t`, through which tests make its brokers fail.
    nonisolated(unsafe) package let handle: OpaquePointer
    public let bootstrapServers: String

    public init(brokers: Int = 1) throws(KafkaError) {
        client = try Client(RD_KAFKA_PRODUCER, ClientProperties(), log: { _, _, _ in })
        guard let handle = rd_kafka_mock_cluster_new(client.handle, Int32(clamping: brokers)) else {
            throw KafkaError("cannot start the embedded broker")
        }
        self.handle = handle
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(handle))
    }

    deinit { rd_kafka_mock_cluster_destroy(handle) }

    public func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
        let code = rd_kafka_mock_topic_create(handle, name, Int32(clamping: partitions), 1)
        if let error = KafkaError(ifAny: code) { throw error }
    }
}
