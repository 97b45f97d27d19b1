internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// An idempotent producer for one thread, which waits only in the steps of a transaction, and there for a bounded time.
/// With `stopsAtRefusal`, no record overtakes a refused one: with at-least-once delivery a refusal is fatal to the
/// producer (`enable.gapless.guarantee`), in a transaction to the transaction. Everything queued is then reported,
/// records in flight with their result. This does not cover records that time out: with at-least-once delivery
/// `message.timeout.ms` must be 0.
package final class OutputProducer {
    private let client: Client
    private let signal: WakeSignal
    private let queue: OpaquePointer
    @exclusivity(unchecked) private var topics: [(name: String, handle: OpaquePointer)] = []
    /// Reports that were taken during a transaction step.
    @exclusivity(unchecked) private var held: [OutputDelivery] = []
    /// The step that another thread has begun, until its outcome is taken.
    @exclusivity(unchecked) private var stepUnderWay: TransactionStep?
    private let outcome: Mailbox<TransactionResult>
    /// When brokers were last asked about a topic's unknown partition.
    @exclusivity(unchecked) private var lastLook: ContinuousClock.Instant?

    /// Idempotence, acks and Java's partitioning are not open to configuration.
    package static let fixed: [(name: String, value: String)] = [
        ("enable.idempotence", "true"), ("acks", "all"), ("partitioner", "murmur2_random"),
    ]

    /// Why librdkafka rejects a producer with these properties and `fixed`; nil if it does not.
    package static func problem(_ properties: ClientProperties) -> KafkaError? {
        Client.problem(RD_KAFKA_PRODUCER, completed(properties, stopsAtRefusal: true))
    }

    private static func completed(_ properties: ClientProperties, stopsAtRefusal: Bool) -> ClientProperties {
        var properties = properties.overridden(by: fixed)
        properties["enable.gapless.guarantee"] = stopsAtRefusal && properties["transactional.id"] == nil ? "true" : nil
        return properties
    }

    /// `signal` is woken by reports. Without `stopsAtRefusal`, records after a refused one are still stored.
    package init(
        _ properties: ClientProperties, signal: WakeSignal, stopsAtRefusal: Bool = true, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        let properties = Self.completed(properties, stopsAtRefusal: stopsAtRefusal)
        self.signal = signal
        outcome = Mailbox(signal)
        // As events: librdkafka then makes no callback within the calls that end a transaction.
        client = try Client(RD_KAFKA_PRODUCER, properties, log: log) { configuration, _ in
            rd_kafka_conf_set_events(configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_ERROR)
        }
        guard let queue = rd_kafka_queue_get_main(client.handle) else { throw KafkaError("no queue for reports") }
        self.queue = queue
        signal.watch(queue)
    }

    /// Outstanding reports never come. librdkafka ends its threads when it can, and no other thread waits for that.
    deinit {
        let client = client
        nonisolated(unsafe) let queue = queue
        nonisolated(unsafe) let handles = topics.map(\.handle)
        WakeSignal.endWatch(of: queue)
        DispatchQueue(label: "pushmill.remains").async {
            rd_kafka_purge(
                client.handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)
            for topic in handles { rd_kafka_topic_destroy(topic) }
            rd_kafka_queue_destroy(queue)
        }
    }

    package func topic(_ name: String) throws(KafkaError) -> OutputTopic {
        if let index = topics.firstIndex(where: { $0.name == name }) { return OutputTopic(index: index) }
        try topics.append((name, client.topic(name)))
        return OutputTopic(index: topics.count - 1)
    }

    /// Blocks.
    package func partitionCount(of topic: String, milliseconds: Int32) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, milliseconds: milliseconds)
    }

    /// Queues one record: copies key and value, takes over the headers. Without a `partition` the key decides.
    package func publish(
        to topic: OutputTopic, partition: Int32? = nil, key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?, headers: inout Headers, timestamp: Int64, tag: UInt64
    ) -> PublishResult {
        let handle = topics[topic.index].handle
        let code = headers.hand { list in
            pushmill_produce(
                client.handle, handle, partition ?? RD_KAFKA_PARTITION_UA, key.start, key?.count ?? 0,
                value.start, value?.count ?? 0, max(0, timestamp), list, tag)
        }
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return .queued
        case RD_KAFKA_RESP_ERR__QUEUE_FULL: return .full
        // After a fatal error the code is that error's (`rd_kafka_check_produce`) and says nothing about the record.
        case let code:
            if code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION { lookForPartitions(of: topics[topic.index].name) }
            return .refused(client.isFatal ? KafkaError(RD_KAFKA_RESP_ERR__FATAL) : KafkaError(code))
        }
    }

    /// Some may have been added: librdkafka itself checks only every five minutes.
    private func lookForPartitions(of topic: String) {
        let now = ContinuousClock.now
        if let lastLook, now < lastLook + .seconds(5) { return }
        lastLook = now
        DispatchQueue(label: "pushmill.partitions").async { [client] in
            _ = try? client.partitionCount(of: topic, milliseconds: 5000)
        }
    }

    /// Calls `body` for each report received, in order within each partition.
    package func takeReports(_ body: (OutputDelivery) -> Void) {
        if !held.isEmpty { for report in exchange(&held, with: []) { body(report) } }
        take(body)
        // Nothing else would purge what a broker thread hands back for a retry after a fatal error
        // (`rd_kafka_toppar_retry_msgq`).
        if client.isFatal, rd_kafka_outq_len(client.handle) > 0 { purge(all: false) }
    }

    private func take(_ body: (OutputDelivery) -> Void) {
        while let event = rd_kafka_queue_poll(queue, 0) {
            switch rd_kafka_event_type(event) {
            case RD_KAFKA_EVENT_DR:
                while let message = rd_kafka_event_message_next(event) { body(delivery(message)) }
            case RD_KAFKA_EVENT_STATS:
                guard let text = rd_kafka_event_stats(event) else { break }
                client.sinks.statistics.take(Array(String(cString: text).utf8))
            // Errors are logged already.
            default: break
            }
            rd_kafka_event_destroy(event)
        }
    }

    private func delivery(_ message: UnsafePointer<rd_kafka_message_t>) -> OutputDelivery {
        let error = KafkaError(ifAny: message.pointee.err)
        return OutputDelivery(
            tag: UInt64(UInt(bitPattern: message.pointee._private)), offset: message.pointee.offset,
            returned: error.map { OwnedRecord(message, $0) })
    }

    /// Drops records that are not in flight yet; with `all` also those in flight, which may or may not have been
    /// stored. All of them are reported.
    package func purge(all: Bool) {
        let flags = RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING | (all ? RD_KAFKA_PURGE_F_INFLIGHT : 0)
        rd_kafka_purge(client.handle, flags)
    }

    /// Sends records that wait for a batch. Another thread waits a millisecond for it, or the broker threads would not
    /// notice (`rd_kafka_flush`).
    package func flush() {
        DispatchQueue.global().async { [client] in _ = rd_kafka_flush(client.handle, 1) }
    }

    /// Records not reported yet.
    package var outstanding: Int { Int(rd_kafka_outq_len(client.handle)) + held.count }

    /// If set, the producer will never accept a record again.
    package var fatalError: KafkaError? { client.fatalError }

    /// The first reason for which a transaction failed since the last call.
    package func takeTransactionFailure() -> String? { client.sinks.transactionFailure.withLock { $0.take() } }

    /// The latest measurements; see `ClientStatistics`.
    package var statistics: StatisticsInbox { client.sinks.statistics }
}

public enum PublishResult: Sendable {
    case queued, full
    case refused(KafkaError)
}

/// A topic of the producer that returned it.
package struct OutputTopic: Sendable, Equatable {
    fileprivate let index: Int
}

/// The result for one record.
package struct OutputDelivery {
    package enum Failure: Sendable, Equatable {
        /// The brokers refuse the record, or another of its batch.
        case refused(reason: String)
        /// Neither stored nor refused, and worth a retry: its topic or the brokers are unavailable.
        case unavailable(reason: String)
        /// Purged, or failed because of its producer or transaction.
        case purged
    }

    package let tag: UInt64
    /// Its offset in the log; negative if the brokers have not reported it.
    package let offset: Int64
    /// The record with its bytes, if it is not known to be stored.
    package let returned: OwnedRecord?

    /// Why it is not known to be stored.
    package var error: KafkaError? { returned?.error }

    package var failure: Failure? {
        guard let error else { return nil }
        if error.blamesRecord { return .refused(reason: error.name) }
        return error.isOfTopic || error.isTimeOut ? .unavailable(reason: error.name) : .purged
    }
}

// MARK: Transactions

package enum TransactionResult: Sendable, Equatable {
    case done
    /// The same step must be repeated.
    case retry(KafkaError)
    /// The transaction must be aborted.
    case abort(KafkaError)
    /// The transaction must be aborted: the group does not accept this member.
    case notAMember(KafkaError)
    /// The producer is unusable.
    case failed(KafkaError)
}

package enum TransactionStep: Sendable, Equatable {
    /// Takes over the transactional ID: fences any other producer with it, and ends a transaction that it left open.
    case initialize
    case begin
    /// Adds the group's commit of these positions, with metadata, to the transaction. After `retry`, only an abort may
    /// follow.
    case addOffsets([Position])
    /// Sends what is queued, then commits.
    case commit
    case abort
}

extension OutputProducer {
    /// Waits up to the timeout, then answers `retry` and goes on: the same step must be asked for again. Reports that
    /// come meanwhile are for the next `takeReports`. Offsets are the member's: its group metadata is read anew each
    /// time, since stale metadata shows brokers that it is no longer a member.
    package func transact(
        _ step: TransactionStep, by member: GroupConsumer? = nil, milliseconds: Int32
    ) -> TransactionResult {
        switch step {
        case .initialize: return perform(step, milliseconds) { rd_kafka_init_transactions($0, -1) }
        case .begin: return Self.result(of: rd_kafka_begin_transaction(client.handle), client)
        case .addOffsets(let positions):
            guard let member, let group = GroupMetadata(of: member) else {
                return .notAMember(KafkaError("this member has left the group"))
            }
            // Checked after the metadata was read, which then has the same member ID.
            guard !member.hasNewMemberID else { return .notAMember(KafkaError("the group has lost this member")) }
            return perform(step, milliseconds) { producer in
                let list = PartitionList(positions)
                return rd_kafka_send_offsets_to_transaction(producer, list.pointer, group.pointer, milliseconds)
            }
        case .commit: return perform(step, milliseconds) { rd_kafka_commit_transaction($0, -1) }
        case .abort: return perform(step, milliseconds) { rd_kafka_abort_transaction($0, -1) }
        }
    }

    /// Begins the step, or goes on waiting for it. An earlier step is waited for first, and its outcome dropped. The
    /// calls that end a transaction wait until all reports are taken, and this thread takes them.
    private func perform(
        _ step: TransactionStep, _ milliseconds: Int32, _ call: @escaping @Sendable (OpaquePointer) -> OpaquePointer?
    ) -> TransactionResult {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        // The waits below may take a wake-up that is meant for this thread's own wait.
        defer { signal.wake() }
        while true {
            if stepUnderWay == nil { begin(step, call) }
            take { held.append($0) }
            if let outcome = outcome.take().last {
                if exchange(&stepUnderWay, with: nil) == step { return outcome }
                continue
            }
            let left = ContinuousClock.now.duration(to: end) / .nanoseconds(1)
            guard left > 0 else { return .retry(.unanswered) }
            signal.wait(nanoseconds: Int64(left))
        }
    }

    /// Calls librdkafka once, on another thread, for as long as it takes. After a timeout it wants to be called again,
    /// but 2.0.2 ends the process if its main thread is late to notice a call that resumes a commit: the commit's
    /// answer is then taken for that of an abort (`rd_kafka_txn_endtxn_complete`).
    private func begin(_ step: TransactionStep, _ call: @escaping @Sendable (OpaquePointer) -> OpaquePointer?) {
        stepUnderWay = step
        DispatchQueue(label: "pushmill.transaction").async { [client, outcome] in
            outcome.post(Self.result(of: call(client.handle), client))
        }
    }

    private static func result(of error: OpaquePointer?, _ client: Client) -> TransactionResult {
        guard let error else { return .done }
        let isFatal = rd_kafka_error_is_fatal(error) != 0 || client.isFatal
        let requiresAbort = rd_kafka_error_txn_requires_abort(error) != 0
        let isRetriable = rd_kafka_error_is_retriable(error) != 0
        let problem = KafkaError(consuming: error)
        if isFatal { return .failed(problem) }
        if problem.isRefusalOfMember { return .notAMember(problem) }
        return !requiresAbort && (isRetriable || problem.isTimeOut) ? .retry(problem) : .abort(problem)
    }
}

/// Which member of which group commits offsets.
private final class GroupMetadata: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// nil if the member has left its group.
    init?(of member: GroupConsumer) {
        guard let pointer = rd_kafka_consumer_group_metadata(member.client.handle) else { return nil }
        self.pointer = pointer
    }

    deinit { rd_kafka_consumer_group_metadata_destroy(pointer) }
}

extension UnsafeRawBufferPointer? {
    /// librdkafka tells null from empty only by the pointer.
    var start: UnsafeRawPointer? {
        guard let self else { return nil }
        return self.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
    }
}
