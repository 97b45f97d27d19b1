internal import CPushmillRdKafka

extension Producer {
    /// Creates a topic with these settings, such as `cleanup.policy`. One that exists already is no error. Blocks.
    public func createTopic(
        _ name: String, partitions: Int, settings: [(name: String, value: String)] = [], milliseconds: Int32
    ) throws(KafkaError) {
        try Topics.create(name, partitions: partitions, settings: settings, by: client, milliseconds: milliseconds)
    }
}

private enum Topics {
    static func create(
        _ name: String, partitions: Int, settings: [(name: String, value: String)], by client: Client,
        milliseconds: Int32
    ) throws(KafkaError) {
        if Metadata.lacksController(client, milliseconds: milliseconds) {
            throw KafkaError("the cluster has no controller, who would create it")
        }
        var reason = [CChar](repeating: 0, count: 512)
        // As many replicas as the brokers give by themselves.
        guard let topic = rd_kafka_NewTopic_new(name, Int32(clamping: partitions), -1, &reason, reason.count) else {
            throw KafkaError(
                RD_KAFKA_RESP_ERR__INVALID_ARG,
                message: reason.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } })
        }
        defer { rd_kafka_NewTopic_destroy(topic) }
        for (name, value) in settings { rd_kafka_NewTopic_set_config(topic, name, value) }
        let options = rd_kafka_AdminOptions_new(client.handle, RD_KAFKA_ADMIN_OP_CREATETOPICS)
        defer { rd_kafka_AdminOptions_destroy(options) }
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue for the answer") }
        defer { rd_kafka_queue_destroy(queue) }
        var topics: [OpaquePointer?] = [topic]
        rd_kafka_CreateTopics(client.handle, &topics, 1, options, queue)
        guard let event = rd_kafka_queue_poll(queue, milliseconds) else {
            throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT)
        }
        defer { rd_kafka_event_destroy(event) }
        if let error = KafkaError(ifAny: rd_kafka_event_error(event)) { throw error }
        var count = 0
        guard let result = rd_kafka_event_CreateTopics_result(event),
            let created = rd_kafka_CreateTopics_result_topics(result, &count)
        else { throw KafkaError("no answer about the topic") }
        for index in 0..<count {
            let code = rd_kafka_topic_result_error(created[index])
            guard code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, let error = KafkaError(ifAny: code) else { continue }
            throw error
        }
    }
}
