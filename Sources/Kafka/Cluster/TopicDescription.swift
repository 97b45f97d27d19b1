internal import CPushmillRdKafka

extension Producer {
    /// A setting of topics, such as `max.message.bytes`, by topic, as far as brokers tell it. Blocks.
    public func setting(_ name: String, ofTopics topics: [String], milliseconds: Int32) -> [String: String] {
        if Metadata.lacksController(client, milliseconds: milliseconds) { return [:] }
        var resources = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { rd_kafka_ConfigResource_destroy_array(&resources, resources.count) }
        let options = rd_kafka_AdminOptions_new(client.handle, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)
        defer { rd_kafka_AdminOptions_destroy(options) }
        guard let queue = rd_kafka_queue_new(client.handle) else { return [:] }
        defer { rd_kafka_queue_destroy(queue) }
        rd_kafka_DescribeConfigs(client.handle, &resources, resources.count, options, queue)
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
}
