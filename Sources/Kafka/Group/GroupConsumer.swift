internal import CPushmillRdKafka

/// A member of a group, for one thread that never blocks in it. Records come through a queue of their own and events
/// through another: who wants no records takes none, and is in the group nevertheless.
package final class GroupConsumer {
    let client: Client
    /// Rebalances, answers to commits, errors of the group.
    let events: OpaquePointer
    /// Records, and errors of their partitions.
    let records: OpaquePointer
    /// What librdkafka was told to read: less than the group has given at times.
    var reading: Set<TopicPartition> = []
    /// Given back of a revocation of which others are not yet.
    var given: Set<TopicPartition> = []
    /// To be stopped, and read again from there, once a revocation is answered: nothing of them is given out until then.
    @exclusivity(unchecked) var stopping: Set<TopicPartition> = []
    var starting: [TopicPartition: Position] = [:]
    let committedOffsets: CommittedOffsets
    let ranges: LogRanges
    private(set) var owners: OwnerWatch?
    private let signal: WakeSignal
    private let topics = TopicNumbers()
    /// Nothing is in the record queue that its watch has not told, or will not tell, of.
    @exclusivity(unchecked) private var isDrained = false
    private var leaving: OpaquePointer?
    private let waker: FetchWaker
    /// Records and their bytes that were given out since the threads of brokers were last woken, and after how many they are.
    @exclusivity(unchecked) private var givenOut = (records: 0, bytes: 0)
    private let wakesAfter: (records: Int, bytes: Int)
    private let isStatic: Bool
    private let group: String

    var sinks: ClientSinks { client.sinks }

    /// What the promises of delivery rest on. An offset that the log does not hold is an event, never a jump.
    package static let fixed: [(name: String, value: String)] = [
        ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
        ("partition.assignment.strategy", "cooperative-sticky"), ("isolation.level", "read_committed"),
        ("enable.partition.eof", "false"), ("auto.offset.reset", "error"),
    ]

    /// What librdkafka says against a consumer with all of them.
    package static func problem(_ properties: ClientProperties) -> KafkaError? {
        Client.problem(RD_KAFKA_CONSUMER, properties.overridden(by: fixed))
    }

    /// `signal` is woken by records, events and answers.
    package init(
        _ properties: ClientProperties, signal: WakeSignal, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        let properties = properties.overridden(by: Self.fixed)
        let client = try Client(RD_KAFKA_CONSUMER, properties, log: log) { configuration, sinks in
            rd_kafka_conf_set_rebalance_cb(configuration, onGroupRebalance)
            JoinWatch.begin(configuration, sinks)
        }
        var plain = properties
        for name in ["group.instance.id", "statistics.interval.ms"] { plain[name] = nil }
        let committedOffsets = try CommittedOffsets(client, group: properties["group.id"] ?? "", signal) {
            [plain] () throws(KafkaError) in
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
        ranges = LogRanges(client, signal)
        waker = FetchWaker(client)
        isStatic = properties["group.instance.id"] != nil
        group = properties["group.id"] ?? ""
        let most = ["queued.min.messages", "queued.max.messages.kbytes"].map { properties[$0].flatMap { Int($0) } }
        wakesAfter = ((most[0] ?? 100_000) / 4, (most[1] ?? 65_536) * 1024 / 4)
        signal.watch(events)
        signal.watch(records)
    }

    deinit {
        // An assignment may have come since the last turn.
        if client.isFatal { pollEvents() }
        ranges.close()
        owners?.close()
        for queue in [records, events, leaving].compactMap(\.self) {
            WakeSignal.endWatch(of: queue)
            rd_kafka_queue_destroy(queue)
        }
    }

    package func subscribe(to topics: [String]) throws(KafkaError) {
        try client.subscribe(to: topics)
        if isStatic { owners = OwnerWatch(client, group: group, topics: topics, signal) }
    }

    // MARK: Waiting

    /// Returns after that time, or when there may be news: an event, and a record unless `records` is false.
    package func wait(milliseconds: Int64, records: Bool) {
        guard sinks.group.events.isEmpty, isDrained || !records else { return }
        let bound = committedOffsets.isWaiting ? min(milliseconds, CommittedOffsets.pause) : milliseconds
        signal.wait(nanoseconds: max(0, bound) * 1_000_000)
        isDrained = false
    }

    /// Moves what has come to the end of `all`. To be called each turn: it is what keeps the member in its group.
    package func takeEvents(into all: inout [ConsumerEvent]) {
        pollEvents()
        let group = sinks.group
        if let revoked = group.revoked, !group.isRevocationLost, rd_kafka_assignment_lost(client.handle) != 0 {
            // Of a loss during a revocation librdkafka tells nobody (`RD_KAFKA_CGRP_REBALANCING`).
            group.isRevocationLost = true
            group.events.append(.lost(Array(revoked)))
        }
        committedOffsets.take(into: &group.events)
        ranges.take(into: &group.events)
        owners?.take(into: &group.events)
        guard !group.events.isEmpty else { return }
        all.append(contentsOf: group.events)
        group.events.removeAll(keepingCapacity: true)
    }

    func pollEvents() {
        while let message = rd_kafka_consume_queue(events, 0) { note(message) }
    }

    // MARK: Records

    /// The next record that was fetched; to be destroyed by the caller. One call of librdkafka each: its batch call
    /// loses what it holds beside a rebalance or a seek (`rd_kafka_purge_outdated_messages`).
    package func nextRecord() -> Record? {
        while let message = rd_kafka_consume_queue(records, 0) {
            if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                let record = Record(message, topic: topics.number(of: message.pointee.rkt))
                countGivenOut(record)
                guard stopping.isEmpty || !stopping.contains(place(of: record)) else {
                    record.destroy()
                    continue
                }
                return record
            }
            note(message)
        }
        isDrained = true
        return nil
    }

    /// Whenever a quarter of what the queue may hold was given out there is room for more.
    private func countGivenOut(_ record: Record) {
        givenOut.records &+= 1
        givenOut.bytes &+= record.value?.count ?? 0
        guard givenOut.records >= wakesAfter.records || givenOut.bytes >= wakesAfter.bytes else { return }
        givenOut = (0, 0)
        waker.wakeLeaders(of: reading)
    }

    private func place(of record: Record) -> TopicPartition {
        TopicPartition(topics.name(record.topic), record.partition)
    }

    /// The name behind `Record.topic`.
    package func topicName(_ number: UInt32) -> String { topics.name(number) }

    /// The number under which records of this topic come.
    package func number(ofTopic name: String) -> UInt32 { topics.number(ofName: name) }

    /// Takes over an error that came as a message.
    private func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
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

    /// The group is being joined anew. What is committed now waits behind that in the connection and comes with a
    /// generation that has passed; librdkafka answers with the loss of every partition. A question to librdkafka's main
    /// thread, such as `isRenamed`, must not come between this and the commit: that thread sends a join that is due
    /// when it was woken by anything.
    package var isJoining: Bool { sinks.joins.isJoining }

    /// Since when the group has not told what is whose, in nanoseconds of the monotonic clock; nil where it has.
    package var joinsSince: UInt64? { sinks.joins.joinsSince }

    package var fatalError: KafkaError? { client.fatalError }

    /// What was measured last; see `ClientStatistics`.
    package var statistics: StatisticsInbox { sinks.statistics }

    /// The group has this member by another name already, or by none, which the next event tells: what is committed by it
    /// may be another's, and brokers would take it of a member without a name. Waits for librdkafka's main thread.
    package var isRenamed: Bool {
        guard let name = sinks.group.name else { return false }
        return name != nameOfMember(client.handle)
    }

    /// Begins to leave the group; only `hasLeft` is of use afterwards.
    package func leave() throws(KafkaError) {
        guard leaving == nil else { return }
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue to leave by") }
        leaving = queue
        owners?.close()
        // librdkafka waits for the answers that are still owed (`rd_kafka_cgrp_terminate0`).
        pollEvents()
        if let revoked = sinks.group.revoked { try? giveBack(Array(revoked)) }
        try? acceptAssignment()
        sinks.group.isLeaving = true
        signal.watch(queue)
        if let error = rd_kafka_consumer_close_queue(client.handle, queue) { throw KafkaError(consuming: error) }
    }

    /// To be asked again and again: it may be never, since librdkafka keeps commits for a coordinator that is away.
    package var hasLeft: Bool {
        while let leaving, let message = rd_kafka_consume_queue(leaving, 0) { rd_kafka_message_destroy(message) }
        return rd_kafka_consumer_closed(client.handle) != 0
    }
}

/// Small numbers for the topics that records come from, so that a record carries no name.
final class TopicNumbers {
    // One thread has it, for every record.
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
