internal import CPushmillRdKafka
internal import Glibc
import Synchronization

/// An idempotent producer. Publishing is for any thread; `poll` for one.
public final class Producer: Sendable {
    let client: Client
    private let sinks: ClientSinks
    /// Where reports come as events, because what ends a transaction would otherwise call back on its own thread.
    private let events: ProducerEvents?

    /// Idempotence, acks and Java's placement of keys are not a matter of taste here.
    public static let fixed: [(name: String, value: String)] = [
        ("enable.idempotence", "true"), ("acks", "all"), ("partitioner", "murmur2_random"),
    ]

    /// One that only asks publishes nothing, and takes no producer's number from the brokers.
    public init(
        _ properties: ClientProperties, onlyAsks: Bool = false, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        var properties = properties
        for (name, value) in Self.fixed { properties[name] = value }
        if onlyAsks { properties["enable.idempotence"] = "false" }
        let isTransactional = properties["transactional.id"] != nil
        sinks = ClientSinks(log: log)
        client = try Client(RD_KAFKA_PRODUCER, properties: properties, sinks: sinks) {
            if isTransactional {
                rd_kafka_conf_set_events($0, ProducerEvents.enabled)
            } else {
                rd_kafka_conf_set_dr_msg_cb($0, onDelivery)
            }
        }
        events = isTransactional ? try ProducerEvents(client) : nil
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
        if let events {
            events.serve(milliseconds: milliseconds, sinks)
        } else {
            rd_kafka_poll(client.handle, milliseconds)
        }
        swap(&sinks.deliveries.reports, &reports)
    }

    /// Ends a poll that waits; for any thread. See `Consumer.wake`.
    package func wake() {
        guard let queue = rd_kafka_queue_get_main(client.handle) else { return }
        rd_kafka_queue_yield(queue)
        rd_kafka_queue_destroy(queue)
    }

    /// What was measured last; see `ClientStatistics`. For any thread.
    public var statistics: ClientStatistics? { sinks.statistics.latest }

    /// Sends what waits for its batch now. Must be polled meanwhile by the polling thread; true when all is settled.
    public func flush(milliseconds: Int32) -> Bool {
        rd_kafka_flush(client.handle, milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR
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

/// Transactions, for a producer with a `transactional.id`. Each call blocks up to its time-out, so they are for one
/// thread that may; delivery reports are to be polled by another meanwhile. An error that `isRetriable` asks for the same
/// call again; one that `requiresAbort` for `abortTransaction`; one that `isFatal` ends this producer.
extension Producer {
    /// Fences any other producer of the same name, and ends what that has left open. Once, before the first transaction.
    public func initTransactions(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_init_transactions(client.handle, milliseconds))
    }

    public func beginTransaction() throws(KafkaError) { try check(rd_kafka_begin_transaction(client.handle)) }

    /// Makes the group's commit of these positions, with their metadata, part of the transaction.
    public func sendOffsets(_ positions: [Position], of group: GroupMetadata, milliseconds: Int32) throws(KafkaError) {
        let list = PartitionList(positions)
        try check(rd_kafka_send_offsets_to_transaction(client.handle, list.pointer, group.handle, milliseconds))
    }

    /// Sends what is queued, then commits.
    public func commitTransaction(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_commit_transaction(client.handle, milliseconds))
    }

    public func abortTransaction(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_abort_transaction(client.handle, milliseconds))
    }

    private func check(_ error: OpaquePointer?) throws(KafkaError) {
        if let error { throw KafkaError(consuming: error) }
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

    /// librdkafka's own form of it.
    fileprivate var bytes: [UInt8] {
        var buffer: UnsafeMutableRawPointer?
        var size = 0
        if let error = rd_kafka_consumer_group_metadata_write(handle, &buffer, &size) { rd_kafka_error_destroy(error) }
        defer { rd_kafka_mem_free(nil, buffer) }
        return Array(UnsafeRawBufferPointer(start: buffer, count: size))
    }
}

extension GroupMetadata: Equatable {
    /// The same member of the same generation.
    public static func == (left: GroupMetadata, right: GroupMetadata) -> Bool { left.bytes == right.bytes }
}

extension Consumer {
    /// nil once the consumer is closed.
    public func groupMetadata() -> GroupMetadata? { GroupMetadata(rd_kafka_consumer_group_metadata(client.handle)) }
}
