internal import CPushmillRdKafka

/// Queries about a group. Like those of `Metadata`, they block the caller.
extension Client {
    /// Calls `body` with the groups of that name: one or none. nil if brokers do not report groups. Asks all brokers
    /// and fails if one is away. `rd_kafka_DescribeConsumerGroups` would ask only the coordinator, but librdkafka 2.0.2
    /// uses freed memory if the coordinator is away for the request's timeout.
    func groups<Answer>(
        named group: String, milliseconds: Int32, _ body: (UnsafeBufferPointer<rd_kafka_group_info>) -> Answer
    ) throws(KafkaError) -> Answer? {
        var list: UnsafePointer<rd_kafka_group_list>?
        let code = rd_kafka_list_groups(handle, group, &list, milliseconds)
        defer { if let list { rd_kafka_group_list_destroy(list) } }
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: break
        case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION: return nil
        default: throw KafkaError(code)
        }
        let groups = UnsafeBufferPointer(start: list?.pointee.groups, count: Int(list?.pointee.group_cnt ?? 0))
        for group in groups { if let error = KafkaError(ifAny: group.err) { throw error } }
        return body(groups)
    }

    /// Throws if this consumer's user may not see its group, which `rd_kafka_list_groups` would leave out: asks for an
    /// offset, which takes the same right. `partition` is one that the user may see. For a client that has not joined.
    func checkSight(of partition: TopicPartition, milliseconds: Int32) throws(KafkaError) {
        rd_kafka_poll_set_consumer(handle)
        let list = PartitionList([partition])
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while let error = KafkaError(ifAny: rd_kafka_committed(handle, list.pointer, min(500, milliseconds))) {
            guard error.isTimeOut else { throw error }
            // Only the consumer is told that the search for the coordinator is refused: it goes on.
            while let message = rd_kafka_consumer_poll(handle, 0) {
                defer { rd_kafka_message_destroy(message) }
                if message.pointee.err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED { throw KafkaError(of: message) }
            }
            guard .now < end else { throw error }
        }
    }

    /// The partitions of these topics that no member owns; nil if that is unknown, or if the group is not stable.
    func unowned(ofGroup group: String, topics: [String], milliseconds: Int32) -> Set<TopicPartition>? {
        var left: Set<TopicPartition> = []
        for topic in topics {
            guard let count = try? partitionCount(of: topic, milliseconds: milliseconds) else { return nil }
            left.formUnion((0..<Int32(clamping: count)).lazy.map { TopicPartition(topic, $0) })
        }
        let answer = try? groups(named: group, milliseconds: milliseconds) { groups -> Set<TopicPartition>? in
            guard let group = groups.first, String(cString: group.state) == "Stable" else { return nil }
            for member in UnsafeBufferPointer(start: group.members, count: Int(group.member_cnt)) {
                let bytes = UnsafeRawBufferPointer(
                    start: member.member_assignment, count: Int(member.member_assignment_size))
                guard let own = MemberAssignment(bytes) else { return nil }
                left.subtract(own.partitions)
            }
            return left
        }
        return answer ?? nil
    }
}

/// A member's assignment by the group's leader, in Kafka's consumer protocol: a version, topics with their partitions,
/// and bytes for the assignor.
struct MemberAssignment {
    private(set) var partitions: [TopicPartition] = []
    private var rest: Slice<UnsafeRawBufferPointer>

    /// nil if the bytes are not an assignment. A member without partitions may have no bytes.
    init?(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
        guard !rest.isEmpty else { return }
        guard integer(Int16.self) != nil, let topics = integer(Int32.self) else { return nil }
        for _ in 0..<max(0, topics) {
            guard let length = integer(Int16.self), length >= 0, rest.count >= length else { return nil }
            let topic = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
            rest = rest.dropFirst(Int(length))
            guard let count = integer(Int32.self) else { return nil }
            for _ in 0..<max(0, count) {
                guard let number = integer(Int32.self) else { return nil }
                partitions.append(TopicPartition(topic, number))
            }
        }
    }

    private mutating func integer<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let size = MemoryLayout<Number>.size
        guard rest.count >= size else { return nil }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}
