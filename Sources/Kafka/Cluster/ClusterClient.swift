internal import CPushmillRdKafka
internal import Glibc
internal import Synchronization

/// Queries the cluster and creates topics. Publishes nothing, and asks brokers for no producer ID.
public final class ClusterClient: Sendable {
    let client: Client

    /// The client's log is dropped: every failure is an error.
    public init(_ properties: ClientProperties) throws(KafkaError) {
        var properties = properties
        properties["enable.idempotence"] = "false"
        client = try Client(RD_KAFKA_PRODUCER, properties, log: { _, _, _ in })
    }

    /// nil if a broker answers. If brokers refuse the connection, the error says why. Creates nothing. For one thread.
    public func reach(milliseconds: Int32) -> KafkaError? {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(client.handle, 0, nil, &metadata, milliseconds)
        if let metadata { rd_kafka_metadata_destroy(metadata) }
        guard let error = KafkaError(ifAny: code) else { return nil }
        rd_kafka_poll(client.handle, 0)
        return client.sinks.refusal.withLock { $0 } ?? error
    }

    /// The ID of the cluster, if brokers report it. Blocks.
    public func clusterID(milliseconds: Int32) -> String? {
        guard let text = rd_kafka_clusterid(client.handle, milliseconds) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    public func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, milliseconds: milliseconds)
    }

    /// A topic setting, such as `max.message.bytes`, by topic, as far as brokers report it. Blocks.
    public func setting(_ name: String, ofTopics topics: [String], milliseconds: Int32) -> [String: String] {
        if client.lacksController(milliseconds: milliseconds) { return [:] }
        var resources = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { rd_kafka_ConfigResource_destroy_array(&resources, resources.count) }
        guard let queue = rd_kafka_queue_new(client.handle) else { return [:] }
        defer { rd_kafka_queue_destroy(queue) }
        rd_kafka_DescribeConfigs(client.handle, &resources, resources.count, nil, queue)
        guard let event = rd_kafka_queue_poll(queue, milliseconds) else { return [:] }
        defer { rd_kafka_event_destroy(event) }
        var count = 0
        guard let result = rd_kafka_event_DescribeConfigs_result(event),
            let described = rd_kafka_DescribeConfigs_result_resources(result, &count)
        else { return [:] }
        var values: [String: String] = [:]
        for index in 0..<count {
            guard let topic = rd_kafka_ConfigResource_name(described[index]) else { continue }
            values[String(cString: topic)] = Self.value(of: name, in: described[index])
        }
        return values
    }

    private static func value(of name: String, in resource: OpaquePointer?) -> String? {
        var count = 0
        guard let entries = rd_kafka_ConfigResource_configs(resource, &count) else { return nil }
        for index in 0..<count where String(cString: rd_kafka_ConfigEntry_name(entries[index])) == name {
            return rd_kafka_ConfigEntry_value(entries[index]).map { String(cString: $0) }
        }
        return nil
    }

    /// Creates a topic with these settings, such as `cleanup.policy`. One that exists already is no error. Blocks.
    public func createTopic(
        _ name: String, partitions: Int, settings: [(name: String, value: String)] = [], milliseconds: Int32
    ) throws(KafkaError) {
        if client.lacksController(milliseconds: milliseconds) {
            throw KafkaError("the cluster has no controller to create it")
        }
        // -1 stands for the brokers' default number of replicas.
        let (made, reason) = withReason { rd_kafka_NewTopic_new(name, Int32(clamping: partitions), -1, $0, $1) }
        guard let topic = made else { throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: reason) }
        defer { rd_kafka_NewTopic_destroy(topic) }
        for (name, value) in settings { rd_kafka_NewTopic_set_config(topic, name, value) }
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue for the answer") }
        defer { rd_kafka_queue_destroy(queue) }
        var topics: [OpaquePointer?] = [topic]
        rd_kafka_CreateTopics(client.handle, &topics, 1, nil, queue)
        guard let event = rd_kafka_queue_poll(queue, milliseconds) else { throw .unanswered }
        defer { rd_kafka_event_destroy(event) }
        if let error = KafkaError(ifAny: rd_kafka_event_error(event)) { throw error }
        var count = 0
        guard let result = rd_kafka_event_CreateTopics_result(event),
            let created = rd_kafka_CreateTopics_result_topics(result, &count), count > 0
        else { throw KafkaError("no answer about the topic") }
        let code = rd_kafka_topic_result_error(created[0])
        if code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, let error = KafkaError(ifAny: code) { throw error }
    }

    /// The number of members that the group of such a consumer has now; nil if brokers do not report it. It is an error
    /// if its user may not see the group. `topic` is one that the user may see. Blocks.
    package static func memberCount(
        ofGroupIn properties: ClientProperties, topic: String, milliseconds: Int32
    ) throws(KafkaError) -> Int? {
        let client = try Client(RD_KAFKA_CONSUMER, properties, log: { _, _, _ in })
        try client.checkSight(of: TopicPartition(topic, 0), milliseconds: milliseconds)
        return try client.groups(named: properties["group.id"] ?? "", milliseconds: milliseconds) { groups in
            groups.reduce(0) { $0 + Int($1.member_cnt) }
        }
    }
}
