internal import CPushmillRdKafka

extension Producer {
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
        return UnsafeBufferPointer(start: list.pointee.groups, count: Int(list.pointee.group_cnt))
            .reduce(0) { $0 + Int($1.member_cnt) }
    }
}
