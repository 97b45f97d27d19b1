internal import CPushmillRdKafka

/// A member of a group, with cooperative rebalances and commits of explicit lists. `poll`, leaving and the answers to
/// rebalances are for one thread; commits and questions for any other.
public final class Consumer: Sendable {
    let client: Client
    private let sinks: ClientSinks
    nonisolated(unsafe) private let queue: OpaquePointer
    /// Touched by the polling thread only.
    nonisolated(unsafe) private let topics = TopicNumbers()
    /// Touched by the polling thread only.
    nonisolated(unsafe) private var paused: Set<TopicPartition> = []
    /// Where the ways of leaving are told. Touched by the polling thread only.
    nonisolated(unsafe) private var leaving: OpaquePointer?

    /// What the promises of delivery rest on.
    public static let fixed: [(name: String, value: String)] = [
        ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
        ("partition.assignment.strategy", "cooperative-sticky"), ("isolation.level", "read_committed"),
        ("enable.partition.eof", "false"),
    ]

    public init(_ properties: ClientProperties, log: @escaping KafkaLogSink) throws(KafkaError) {
        var properties = properties
        for (name, value) in Self.fixed { properties[name] = value }
        let sinks = ClientSinks(log: log)
        let client = try Client(RD_KAFKA_CONSUMER, properties: properties, sinks: sinks) {
            rd_kafka_conf_set_rebalance_cb($0, onRebalance)
            sinks.joins.watch($0)
        }
        rd_kafka_poll_set_consumer(client.handle)
        guard let queue = rd_kafka_queue_get_consumer(client.handle) else { throw KafkaError("no consumer queue") }
        self.client = client
        self.sinks = sinks
        self.queue = queue
    }

    deinit {
        rd_kafka_queue_destroy(queue)
        if let leaving { rd_kafka_queue_destroy(leaving) }
    }

    public func subscribe(to topics: [String]) throws(KafkaError) {
        let list = PartitionList(topics.map { TopicPartition($0, -1) })
        if let error = KafkaError(ifAny: rd_kafka_subscribe(client.handle, list.pointer)) { throw error }
    }

    /// What was measured last; see `ClientStatistics`. For any thread.
    public var statistics: ClientStatistics? { sinks.statistics.latest }

    /// The name behind `Record.topic`.
    public func topicName(_ number: UInt32) -> String { topics.name(number) }

    /// Takes what is there, or waits for the first record up to the time-out: full batches under load, no delay when
    /// idle. Every record of the batch must be destroyed by the caller.
    public func poll(milliseconds: Int32, into batch: inout RecordBatch) -> Polled {
        batch.fill(from: queue, milliseconds: milliseconds, topics)
        let rebalances = sinks.rebalances.events
        if !rebalances.isEmpty { sinks.rebalances.events = [] }
        return Polled(rebalances: rebalances, errors: batch.errors)
    }

    /// Ends a poll that waits, without a record; for any thread. librdkafka's waits are by the wall clock: set back by an
    /// hour, it makes them so much longer.
    package func wake() { rd_kafka_queue_yield(queue) }

    public func assign(_ positions: [Position]) throws(KafkaError) {
        let list = PartitionList(positions)
        if let error = rd_kafka_incremental_assign(client.handle, list.pointer) { throw KafkaError(consuming: error) }
    }

    public func unassign(_ partitions: [TopicPartition]) throws(KafkaError) {
        let list = PartitionList(partitions)
        if let error = rd_kafka_incremental_unassign(client.handle, list.pointer) {
            throw KafkaError(consuming: error)
        }
    }

    /// Pausing drops what was prefetched for these partitions. librdkafka keeps it across assignments. For the polling
    /// thread.
    public func pause(_ partitions: [TopicPartition]) {
        paused.formUnion(partitions)
        twice(rd_kafka_pause_partitions, partitions)
    }

    /// Nothing for those that are not paused: librdkafka may drop the beginning of one that it is about to read.
    public func resume(_ partitions: [TopicPartition]) {
        twice(rd_kafka_resume_partitions, partitions.filter { paused.remove($0) != nil })
    }

    /// librdkafka drops, without a word, what comes just when it pauses the same partition for a rebalance. It has come to
    /// an end with that when it answers.
    private func twice(
        _ change: (OpaquePointer?, UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> rd_kafka_resp_err_t,
        _ partitions: [TopicPartition]
    ) {
        guard !partitions.isEmpty else { return }
        let list = PartitionList(partitions)
        for _ in 0..<2 { _ = change(client.handle, list.pointer) }
    }

    /// Reads on from these positions; what was prefetched is dropped.
    public func seek(to positions: [Position], milliseconds: Int32) -> [PartitionResult] {
        let list = PartitionList(positions)
        if let error = rd_kafka_seek_partitions(client.handle, list.pointer, milliseconds) {
            let failure = KafkaError(consuming: error)
            return positions.map { PartitionResult(position: $0, error: failure) }
        }
        return list.results
    }

    public var fatalError: KafkaError? { client.fatalError }

    /// Begins to leave the group. `poll` and answers to rebalances are of no use afterwards.
    public func leave() throws(KafkaError) {
        guard let leaving = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue to leave by") }
        self.leaving = leaving
        sinks.rebalances.isLeaving = true
        if let error = rd_kafka_consumer_close_queue(client.handle, leaving) { throw KafkaError(consuming: error) }
    }

    /// Waits until the group has been left, which may be never: librdkafka keeps commits for a coordinator that is away.
    public func hasLeft(milliseconds: Int32) -> Bool {
        if let leaving, let message = rd_kafka_consume_queue(leaving, milliseconds) {
            rd_kafka_message_destroy(message)
        }
        return rd_kafka_consumer_closed(client.handle) != 0
    }

    /// What the group has committed, with metadata. Blocks.
    public func committed(_ partitions: [TopicPartition], milliseconds: Int32) throws(KafkaError) -> [PartitionResult] {
        let list = PartitionList(partitions)
        if let error = KafkaError(ifAny: rd_kafka_committed(client.handle, list.pointer, milliseconds)) { throw error }
        return list.results
    }

    /// The first offset the log holds and the one past its last. Blocks.
    public func watermarks(
        of partition: TopicPartition, milliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        try Metadata.watermarks(of: partition, client, milliseconds: milliseconds)
    }

    /// The group is being joined anew. What is committed now waits behind that in the connection and comes with a
    /// generation that has passed; librdkafka answers with the loss of every partition.
    public var isJoining: Bool { sinks.joins.isJoining }

    /// A way to commit, for one thread of the caller's.
    public func commits() throws(KafkaError) -> CommitChannel { try CommitChannel(client) }
}

public struct Polled: Sendable {
    public let rebalances: [RebalanceEvent]
    public let errors: [KafkaError]
}

/// What the group wants of this member. The consumer goes on only when it has been answered: `assign` by
/// `Consumer.assign`, `revoke` and `lose` by `Consumer.unassign`.
public enum RebalanceEvent: Sendable {
    case assign([TopicPartition])
    case revoke([TopicPartition])
    /// Others may own them already: nothing of them may be committed.
    case lose([TopicPartition])
    case failed(KafkaError)
}

/// Rebalances as the callback leaves them during a poll.
final class RebalanceInbox {
    var events: [RebalanceEvent] = []
    /// While the group is being left no one answers later: what is revoked then is let go at once.
    var isLeaving = false
    /// The group has told this member what is its own, at least once.
    var wasTold = false
}

/// Called by librdkafka within a poll of the consumer queue. It need not answer there: librdkafka waits for the
/// (un)assign call, however late, while the consumer is polled.
func onRebalance(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let partitions, let sinks = ClientSinks.from(opaque) else { return }
    sinks.rebalances.wasTold = true
    let named = PartitionResult.all(in: partitions).map(\.position.partition)
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS where !sinks.rebalances.isLeaving:
        sinks.rebalances.events.append(.assign(named))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS where !sinks.rebalances.isLeaving:
        let isLost = rd_kafka_assignment_lost(client) != 0
        sinks.rebalances.events.append(isLost ? .lose(named) : .revoke(named))
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        rd_kafka_assign(client, nil)
    default:
        sinks.rebalances.events.append(.failed(KafkaError(code)))
        rd_kafka_assign(client, nil)
    }
}
