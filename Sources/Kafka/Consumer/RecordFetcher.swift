internal import CRdKafka

/// Reads single records again, outside of any group. For one thread.
public final class RecordFetcher {
    private let client: Client

    /// `properties` are a consumer's.
    public init(_ properties: ClientProperties, log: @escaping KafkaLogSink) throws(KafkaError) {
        var properties = properties
        for (name, value) in Consumer.fixed { properties[name] = value }
        properties["group.instance.id"] = nil
        let sinks = ClientSinks(log: log, statistics: { _ in }, error: { _ in })
        client = try Client(RD_KAFKA_CONSUMER, properties: properties, sinks: sinks)
        rd_kafka_poll_set_consumer(client.handle)
    }

    /// nil when the log no longer holds the record, or no broker lent it in time. To be destroyed by the caller.
    public func fetch(_ position: Position, milliseconds: Int32) -> Record? {
        let list = PartitionList([position])
        guard rd_kafka_assign(client.handle, list.pointer) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        defer { rd_kafka_assign(client.handle, nil) }
        guard let message = rd_kafka_consumer_poll(client.handle, milliseconds) else { return nil }
        let record = Record(message, topic: 0)
        guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, record.offset == position.offset else {
            record.destroy()
            return nil
        }
        return record
    }
}
