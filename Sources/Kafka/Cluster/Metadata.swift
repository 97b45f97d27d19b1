internal import CPushmillRdKafka

/// Questions to the cluster that block their caller: never asked on the polling thread.
extension Client {
    /// The cluster has named a controller that it does not have, as librdkafka's own does: nobody would answer a request
    /// for one. Where none is named one is being elected.
    func lacksController(milliseconds: Int32) -> Bool {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(handle, 0, nil, &metadata, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { return false }
        defer { rd_kafka_metadata_destroy(metadata) }
        // Asked afterwards: it is answered from what came with the brokers.
        let controller = rd_kafka_controllerid(handle, milliseconds)
        guard controller >= 0 else { return false }
        let brokers = UnsafeBufferPointer(start: metadata.pointee.brokers, count: Int(metadata.pointee.broker_cnt))
        return !brokers.contains { $0.id == controller }
    }

    func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        let (error, count) = try ask(of: topic, milliseconds) { (KafkaError(ifAny: $0.err), $0.partition_cnt) }
        if let error { throw error }
        return Int(count)
    }

    /// These partitions by the broker that leads them, without those of which none is known.
    func byLeader(_ partitions: Set<TopicPartition>) -> [Int32: [TopicPartition]] {
        var led: [Int32: [TopicPartition]] = [:]
        for topic in Set(partitions.map(\.topic)) {
            let leaders = try? ask(of: topic, 2000) { topic in
                UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt)).map { ($0.id, $0.leader) }
            }
            for (number, leader) in leaders ?? [] where leader >= 0 {
                let partition = TopicPartition(topic, number)
                if partitions.contains(partition) { led[leader, default: []].append(partition) }
            }
        }
        return led
    }

    /// Where the logs of these begin and end, leader after leader, without those of which none is known or answers.
    func ranges(
        of partitions: Set<TopicPartition>, _ body: ([(partition: TopicPartition, range: Range<Int64>)]) -> Void
    ) {
        for led in byLeader(partitions).values {
            let list = led.sorted { $0.partition < $1.partition }
            guard let begins = offsets(Position.beginning, list), let ends = offsets(Position.end, list) else {
                continue
            }
            var ranges: [(partition: TopicPartition, range: Range<Int64>)] = []
            for partition in list {
                guard let begin = begins[partition], let end = ends[partition] else { continue }
                ranges.append((partition, begin..<max(begin, end)))
            }
            body(ranges)
        }
    }

    private func offsets(_ end: Int64, _ partitions: [TopicPartition]) -> [TopicPartition: Int64]? {
        let list = PartitionList(partitions.map { Position($0, offset: end) })
        guard rd_kafka_offsets_for_times(handle, list.pointer, 2000) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        let known = list.results.filter { $0.error == nil && $0.position.offset >= 0 }
        return Dictionary(known.map { ($0.position.partition, $0.position.offset) }) { _, last in last }
    }

    private func ask<Answer>(
        of name: String, _ milliseconds: Int32, _ body: (rd_kafka_metadata_topic) -> Answer
    ) throws(KafkaError) -> Answer {
        let asked = try topic(name)
        defer { rd_kafka_topic_destroy(asked) }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        if let error = KafkaError(ifAny: rd_kafka_metadata(handle, 0, asked, &metadata, milliseconds)) {
            throw error
        }
        guard let metadata else { throw KafkaError("no metadata") }
        defer { rd_kafka_metadata_destroy(metadata) }
        guard metadata.pointee.topic_cnt > 0 else { throw KafkaError(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) }
        return body(metadata.pointee.topics[0])
    }
}

extension ClusterClient {
    /// A setting of topics, such as `max.message.bytes`, by topic, as far as brokers tell it. Blocks.
    public func setting(_ name: String, ofTopics topics: [String], milliseconds: Int32) -> [String: String] {
        if client.lacksController(milliseconds: milliseconds) { return [:] }
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

    /// Creates a topic with these settings, such as `cleanup.policy`. One that exists already is no error. Blocks.
    public func createTopic(
        _ name: String, partitions: Int, settings: [(name: String, value: String)] = [], milliseconds: Int32
    ) throws(KafkaError) {
        if client.lacksController(milliseconds: milliseconds) {
            throw KafkaError("the cluster has no controller, who would create it")
        }
        // As many replicas as the brokers give by themselves.
        let (made, reason) = withReason { rd_kafka_NewTopic_new(name, Int32(clamping: partitions), -1, $0, $1) }
        guard let topic = made else { throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: reason) }
        defer { rd_kafka_NewTopic_destroy(topic) }
        for (name, value) in settings { rd_kafka_NewTopic_set_config(topic, name, value) }
        let options = rd_kafka_AdminOptions_new(client.handle, RD_KAFKA_ADMIN_OP_CREATETOPICS)
        defer { rd_kafka_AdminOptions_destroy(options) }
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue for the answer") }
        defer { rd_kafka_queue_destroy(queue) }
        var topics: [OpaquePointer?] = [topic]
        rd_kafka_CreateTopics(client.handle, &topics, 1, options, queue)
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

    /// The members that a group has now; nil where brokers do not tell. Blocks.
    package func memberCount(ofGroup group: String, milliseconds: Int32) throws(KafkaError) -> Int? {
        var list: UnsafePointer<rd_kafka_group_list>?
        let code = rd_kafka_list_groups(client.handle, group, &list, milliseconds)
        defer { if let list { rd_kafka_group_list_destroy(list) } }
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: break
        case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION: return nil
        default: throw KafkaError(code)
        }
        guard let list else { return 0 }
        let groups = UnsafeBufferPointer(start: list.pointee.groups, count: Int(list.pointee.group_cnt))
        for group in groups { if let error = KafkaError(ifAny: group.err) { throw error } }
        return groups.reduce(0) { $0 + Int($1.member_cnt) }
    }
}
