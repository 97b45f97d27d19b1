internal import CPushmillRdKafka
internal import Glibc
internal import Synchronization

/// Asks the cluster, and creates topics. It publishes nothing, and takes no producer's number from the brokers.
public final class ClusterClient: Sendable {
    let client: Client

    public init(_ properties: ClientProperties, log: @escaping KafkaLogSink) throws(KafkaError) {
        var properties = properties
        properties["enable.idempotence"] = "false"
        client = try Client(RD_KAFKA_PRODUCER, properties, log: log)
    }

    /// Whether a broker answers; creates nothing. Where brokers refuse the connection, it says why. For one thread.
    public func reach(milliseconds: Int32) -> KafkaError? {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(client.handle, 0, nil, &metadata, milliseconds)
        if let metadata { rd_kafka_metadata_destroy(metadata) }
        guard let error = KafkaError(ifAny: code) else { return nil }
        rd_kafka_poll(client.handle, 0)
        return client.sinks.refusal.withLock { $0 } ?? error
    }

    /// The identity of the cluster, where brokers tell it. Blocks.
    public func clusterID(milliseconds: Int32) -> String? {
        guard let text = rd_kafka_clusterid(client.handle, milliseconds) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    public func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, milliseconds: milliseconds)
    }
}
