internal import CPushmillRdKafka
internal import Synchronization

/// A member of a group, for one thread that never blocks in it. Records and events come through separate queues: a
/// caller that takes no records stays in the group.
package final class GroupConsumer {
    let client: Client
    /// Rebalances, answers to commits, errors of the group.
    let events: OpaquePointer
    /// Records, and errors of their partitions.
    let records: OpaquePointer
    /// What librdkafka was told to read: at times less than the group has assigned.
    @exclusivity(unchecked) var reading: Set<TopicPartition> = []
    /// Partitions of the current revocation that were given back while others of it are not yet.
    var givenBack: Set<TopicPartition> = []
    /// Partitions to stop, and where to read on, once a revocation is answered. Until then their records are dropped.
    @exclusivity(unchecked) var deferredStops: Set<TopicPartition> = []
    var deferredReads: [TopicPartition: Position] = [:]
    /// Answers that come from other threads.
    let answers: Mailbox<ConsumerEvent>
    let commits: Questions<TopicPartition, ConsumerEvent>
    let ranges: Questions<TopicPartition, ConsumerEvent>
    let lookup: Questions<Position, Record?>
    private(set) var owners: OwnerWatch?
    private let committedOffsets: CommittedOffsets
    private let signal: WakeSignal
    private let topics = TopicNumbers()
    /// Since the last wait: each record in the queue has been reported by its watch, or will be.
    @exclusivity(unchecked) private var hasEmptiedQueue = false
    private var leaving: OpaquePointer?
    private let waker: FetchWaker
    /// Records and bytes given out since broker threads were last woken, and how many of them cause the next wake-up.
    @exclusivity(unchecked) private var givenOut = (records: 0, bytes: 0)
    private let wakesAfter: (records: Int, bytes: Int)
    private let isStatic: Bool
    private let group: String

    var sinks: ClientSinks { client.sinks }

    /// The delivery guarantees rest on these. An offset that the log does not hold becomes an event.
    package static let fixed: [(name: String, value: String)] = [
        ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
        ("partition.assignment.strategy", "cooperative-sticky"), ("isolation.level", "read_committed"),
        ("enable.partition.eof", "false"), ("auto.offset.reset", "error"),
    ]

    /// Why librdkafka rejects a consumer with these properties and `fixed`; nil if it does not.
    package static func problem(_ properties: ClientProperties) -> KafkaError? {
        Client.problem(RD_KAFKA_CONSUMER, properties.overridden(by: fixed))
    }

    /// `signal` is woken by records, events and answers. Members may share `asking`.
    package init(
        _ properties: ClientProperties, signal: WakeSignal, asking: AskingClient = AskingClient(),
        log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        let properties = properties.overridden(by: Self.fixed)
        let client = try Client(RD_KAFKA_CONSUMER, properties, log: log) { configuration, sinks in
            rd_kafka_conf_set_rebalance_cb(configuration, onGroupRebalance)
            JoinWatch.begin(configuration, sinks)
        }
        let plain = ["group.instance.id", "statistics.interval.ms"].reduce(into: properties) { $0[$1] = nil }
        let asker = try asking.client(plain, log)
        let committedOffsets = CommittedOffsets(asker, group: properties["group.id"] ?? "") {
            () throws(KafkaError) in
            try Client(RD_KAFKA_CONSUMER, plain, log: log)
        }
        let events = try client.consumerQueue()
        guard let records = rd_kafka_queue_new(client.handle) else {
            rd_kafka_queue_destroy(events)
            throw KafkaError("no queue for records")
        }
        self.client = client
        self.events = events
        self.records = records
        self.signal = signal
        self.committedOffsets = committedOffsets
        answers = Mailbox(signal)
        commits = Questions(
            "pushmill.commits",
            attempt: { partitions, answer in
                for position in committedOffsets.ask(partitions) { answer(position.partition, .committed([position])) }
            })
        ranges = Questions(
            "pushmill.ranges",
            attempt: { partitions, answer in
                asker.ranges(of: partitions) { ranges in
                    for (partition, range) in ranges { answer(partition, .range(partition, range)) }
                }
            })
        lookup = Questions("pushmill.records", attempt: Questions.records(plain, log: log))
        waker = FetchWaker(client)
        isStatic = properties["group.instance.id"] != nil
        group = properties["group.id"] ?? ""
        let most = ["queued.min.messages", "queued.max.messages.kbytes"].map { properties[$0].flatMap { Int($0) } }
        wakesAfter = ((most[0] ?? 100_000) / 4, (most[1] ?? 65_536) * 1024 / 4)
        signal.watch(events)
        signal.watch(records)
    }

    deinit {
        // An assignment may have come since the last poll: `Client.isDestroyable` must know of it.
        if client.isFatal { pollEvents() }
        commits.close()
        ranges.close()
        lookup.close()
        owners?.close()
        for queue in [records, events, leaving].compactMap(\.self) {
            WakeSignal.endWatch(of: queue)
            rd_kafka_queue_destroy(queue)
        }
    }

    package func subscribe(to topics: [String]) throws(KafkaError) {
        try client.subscribe(to: topics)
        if isStatic { owners = OwnerWatch(client, group: group, topics: topics, answers) }
    }

    // MARK: Waiting

    /// Returns after that time, or when there may be news: an event or, unless `records` is false, a record.
    package func wait(milliseconds: Int64, records: Bool) {
        guard sinks.group.events.isEmpty, hasEmptiedQueue || !records else { return }
        var nanoseconds = max(0, milliseconds) * 1_000_000
        if !sinks.group.heldCommits.isEmpty {
            let (now, until) = (JoinWatch.now, sinks.group.heldUntil)
            nanoseconds = min(nanoseconds, Int64(clamping: max(now, until) - now))
        }
        signal.wait(nanoseconds: nanoseconds)
        hasEmptiedQueue = false
    }

    /// Appends new events to `all`. Must be called in each turn: this is what keeps the member in its group.
    package func takeEvents(into all: inout [ConsumerEvent]) {
        pollEvents()
        releaseCommits()
        let group = sinks.group
        if let revoked = group.revoked, !group.isRevocationLost, rd_kafka_assignment_lost(client.handle) != 0 {
            // librdkafka does not report a loss during a revocation (`RD_KAFKA_CGRP_REBALANCING`).
            group.isRevocationLost = true
            group.events.append(.lost(Array(revoked)))
        }
        committedOffsets.poll()
        // Before all that was told since: an answer is not for a partition that was given back and assigned again.
        group.events.insert(contentsOf: answers.take(), at: 0)
        guard !group.events.isEmpty else { return }
        all.append(contentsOf: group.events)
        group.events.removeAll(keepingCapacity: true)
    }

    func pollEvents() {
        while let message = rd_kafka_consume_queue(events, 0) { consumeError(message) }
    }

    // MARK: Records

    /// The next fetched record, which the caller must destroy. One librdkafka call per record: the batch call loses the
    /// records it holds during a rebalance or a seek (`rd_kafka_purge_outdated_messages`).
    package func nextRecord() -> Record? {
        while let message = rd_kafka_consume_queue(records, 0) {
            if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                let record = Record(message, topic: topics.number(of: message.pointee.rkt))
                countGivenOut(record)
                guard deferredStops.isEmpty || !deferredStops.contains(partition(of: record)) else {
                    record.destroy()
                    continue
                }
                return record
            }
            consumeError(message)
        }
        hasEmptiedQueue = true
        return nil
    }

    /// Each time a quarter of the queue's capacity was given out, there is room to fetch more.
    private func countGivenOut(_ record: Record) {
        givenOut.records &+= 1
        givenOut.bytes &+= record.value?.count ?? 0
        guard givenOut.records >= wakesAfter.records || givenOut.bytes >= wakesAfter.bytes else { return }
        givenOut = (0, 0)
        waker.wakeLeaders(of: reading)
    }

    private func partition(of record: Record) -> TopicPartition {
        TopicPartition(topics.name(record.topic), record.partition)
    }

    /// The name behind `Record.topic`.
    package func topicName(_ number: UInt32) -> String { topics.name(number) }

    /// The `Record.topic` of records from this topic.
    package func number(ofTopic name: String) -> UInt32 { topics.number(ofName: name) }

    /// Destroys a message that carries an error instead of a record, and notes the error.
    private func consumeError(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        defer { rd_kafka_message_destroy(message) }
        let code = message.pointee.err
        if code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, let topic = message.pointee.rkt {
            let name = String(cString: rd_kafka_topic_name(topic))
            let partition = TopicPartition(name, message.pointee.partition)
            if reading.contains(partition) { sinks.group.events.append(.outOfLog(partition)) }
        } else if code != RD_KAFKA_RESP_ERR_NO_ERROR {
            sinks.group.events.append(.failed(KafkaError(of: message)))
        }
    }

    // MARK: Membership

    /// The member is rejoining. A commit made now waits behind the join request on the connection and arrives with a
    /// past generation; librdkafka then reports the loss of every partition. Between this check and the commit, nothing
    /// may query librdkafka's main thread, as `hasNewMemberID` does: any wake-up makes that thread send a join that is
    /// due.
    package var isJoining: Bool { sinks.joins.isJoining }

    /// Why brokers have refused the last connection: the login, or TLS.
    package var refusal: KafkaError? { client.sinks.refusal.withLock { $0 } }

    package func forgetRefusal() { client.sinks.refusal.withLock { $0 = nil } }

    /// When the join that is still unanswered began, in nanoseconds of the monotonic clock; nil without one.
    package var joinsSince: UInt64? { sinks.joins.joinsSince }

    package var fatalError: KafkaError? { client.fatalError }

    /// The latest measurements; see `ClientStatistics`.
    package var statistics: StatisticsInbox { sinks.statistics }

    /// The member's ID has changed or is empty, and the next event will say so. It may commit another member's
    /// partitions, and brokers accept commits from a member without an ID. Waits for librdkafka's main thread.
    package var hasNewMemberID: Bool {
        guard let name = sinks.group.name else { return false }
        return name != nameOfMember(client.handle)
    }

    /// Starts to leave the group; afterwards only `hasLeft` is of use.
    package func leave() throws(KafkaError) {
        guard leaving == nil else { return }
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue to leave by") }
        leaving = queue
        owners?.close()
        // librdkafka waits for answers that are still outstanding (`rd_kafka_cgrp_terminate0`).
        pollEvents()
        if let revoked = sinks.group.revoked { try? giveBack(Array(revoked)) }
        try? acceptAssignment()
        sinks.group.isLeaving = true
        signal.watch(queue)
        // A member without partitions would only end, and the group would wait until its session is over
        // (`rd_kafka_cgrp_revoke_all_rejoin`). A static member is to stay in the group.
        if !isStatic, sinks.group.owned.isEmpty { rd_kafka_unsubscribe(client.handle) }
        if let error = rd_kafka_consumer_close_queue(client.handle, queue) { throw KafkaError(consuming: error) }
    }

    /// Poll it; it may never become true, because librdkafka keeps commits for an unavailable coordinator.
    package var hasLeft: Bool {
        while let leaving, let message = rd_kafka_consume_queue(leaving, 0) { rd_kafka_message_destroy(message) }
        return rd_kafka_consumer_closed(client.handle) != 0
    }
}

/// A client that reads nothing: what it asks brokers does not wait, as on a consumer's connection, behind a fetch that
/// waits for records.
package final class AskingClient: Sendable {
    private let made = Mutex<Client?>(nil)

    package init() {}

    /// Made by the first who needs it.
    func client(_ properties: ClientProperties, _ log: @escaping KafkaLogSink) throws(KafkaError) -> Client {
        try made.withLock { (made) throws(KafkaError) in
            if let made { return made }
            let client = try Client(RD_KAFKA_CONSUMER, properties, log: log)
            made = client
            return client
        }
    }
}

/// Small numbers for the topics that records come from, so that a record carries no name.
final class TopicNumbers {
    // Used by one thread, for every record.
    @exclusivity(unchecked) private var names: [String] = []
    @exclusivity(unchecked) private var lastHandle: OpaquePointer?
    @exclusivity(unchecked) private var lastNumber: UInt32 = 0

    /// Records come in runs of one topic: its handle is looked up once a run.
    func number(of handle: OpaquePointer?) -> UInt32 {
        if handle == lastHandle, handle != nil { return lastNumber }
        let name = handle.map { String(cString: rd_kafka_topic_name($0)) } ?? ""
        lastHandle = handle
        lastNumber = number(ofName: name)
        return lastNumber
    }

    func number(ofName name: String) -> UInt32 {
        let index = names.firstIndex(of: name) ?? names.count
        if index == names.count { names.append(name) }
        return UInt32(truncatingIfNeeded: index)
    }

    func name(_ number: UInt32) -> String { names.indices.contains(Int(number)) ? names[Int(number)] : "" }
}
