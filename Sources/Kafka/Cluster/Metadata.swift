internal import CPushmillRdKafka

/// Cluster queries that block the caller: never for the polling thread.
extension Client {
    /// The cluster names a controller that it does not have, as librdkafka's mock cluster does: a request to the
    /// controller would never be answered. If it names none, an election is in progress.
    func lacksController(milliseconds: Int32) -> Bool {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(handle, 0, nil, &metadata, milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { return false }
        defer { rd_kafka_metadata_destroy(metadata) }
        // After the metadata: librdkafka answers it from that response.
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

    /// These partitions by leader, without those whose leader is unknown.
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

    /// Calls `body` with the ranges of these logs, leader by leader, without leaders that are unknown or do not answer.
    func ranges(
        of partitions: Set<TopicPartition>, _ body: ([(partition: TopicPartition, range: Range<Int64>)]) -> Void
    ) {
        for led in byLeader(partitions).values {
            let list = led.sorted { $0.partition < $1.partition }
            guard let begins = offsets(Position.beginning, list), let ends = offsets(Position.end, list) else {
                continue
            }
            body(
                list.compactMap { partition in
                    guard let begin = begins[partition], let end = ends[partition] else { return nil }
                    return (partition, begin..<max(begin, end))
                })
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
