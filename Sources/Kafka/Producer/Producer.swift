internal import CPushmillRdKafka
internal import Glibc
import Synchronization

/// An idempotent producer. Publishing is for any thread; `poll` for one.
public final class Producer: Sendable {
    let client: Client
    private let sinks: ClientSinks

    /// One that only asks publishes nothing, and takes no producer's number from the brokers.
    public init(
        _ properties: ClientProperties, onlyAsks: Bool = false, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        var properties = properties
        for (name, value) in OutputProducer.fixed { properties[name] = value }
        if onlyAsks { properties["enable.idempotence"] = "false" }
        sinks = ClientSinks(log: log)
        client = try Client(RD_KAFKA_PRODUCER, properties: properties, sinks: sinks) {
            rd_kafka_conf_set_dr_msg_cb($0, onDelivery)
        }
    }

    public func topic(_ name: String) throws(KafkaError) -> ProducerTopic { try ProducerTopic(name, of: client) }

    /// Queues one record; key, value are copied, the headers taken over. `full` is back-pressure: try again after a
    /// poll. `partition` nil leaves the choice to the key.
    public func publish(
        to topic: ProducerTopic, partition: Int32? = nil, key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?, headers: inout Headers, timestamp: Int64, opaque: UInt64
    ) -> PublishResult {
        let code = headers.hand { list in
            pushmill_produce(
                client.handle, topic.handle, partition ?? RD_KAFKA_PARTITION_UA, key.start, key?.count ?? 0,
                value.start, value?.count ?? 0, max(0, timestamp), list, opaque)
        }
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return .queued
        case RD_KAFKA_RESP_ERR__QUEUE_FULL: return .full
        default: return .refused(KafkaError(code))
        }
    }

    /// Waits up to the time-out for delivery reports and other events; moves the reports into `reports`, whose old
    /// storage is kept in turn.
    public func poll(milliseconds: Int32, into reports: inout [DeliveryReport]) {
        reports.removeAll(keepingCapacity: true)
        swap(&sinks.deliveries.reports, &reports)
        rd_kafka_poll(client.handle, milliseconds)
        swap(&sinks.deliveries.reports, &reports)
    }

    public var fatalError: KafkaError? { client.fatalError }

    /// Whether a broker answers; creates nothing. Where brokers refuse the connection, it says why. For the thread that
    /// polls.
    public func reach(milliseconds: Int32) -> KafkaError? {
        guard let error = Metadata.reach(client, milliseconds: milliseconds) else { return nil }
        rd_kafka_poll(client.handle, 0)
        return sinks.refusal.withLock { $0 } ?? error
    }

    /// The identity of the cluster, where brokers tell it. Blocks.
    public func clusterID(milliseconds: Int32) -> String? {
        guard let text = rd_kafka_clusterid(client.handle, milliseconds) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    public func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try Metadata.partitionCount(of: topic, client, milliseconds: milliseconds)
    }
}

public enum PublishResult: Sendable {
    case queued, full
    case refused(KafkaError)
}

/// A topic to publish to, resolved once.
public final class ProducerTopic: Sendable {
    nonisolated(unsafe) let handle: OpaquePointer
    private let client: Client
    public let name: String

    init(_ name: String, of client: Client) throws(KafkaError) {
        guard let handle = rd_kafka_topic_new(client.handle, name, nil) else { throw KafkaError(rd_kafka_last_error()) }
        self.handle = handle
        self.client = client
        self.name = name
    }

    deinit { rd_kafka_topic_destroy(handle) }
}

extension UnsafeRawBufferPointer? {
    /// librdkafka tells null from empty by the pointer alone.
    var start: UnsafeRawPointer? {
        guard let self else { return nil }
        return self.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
    }
}

/// Who a consumer is in its group at one moment. To be asked for anew for each transaction: a stale one is how brokers
/// know that a member is no longer one.
public final class GroupMetadata: Sendable {
    nonisolated(unsafe) let handle: OpaquePointer

    init?(_ handle: OpaquePointer?) {
        guard let handle else { return nil }
        self.handle = handle
    }

    deinit { rd_kafka_consumer_group_metadata_destroy(handle) }
}
