internal import CPushmillRdKafka
internal import Synchronization

extension GroupConsumer {
    /// Answered by `commitEnded` with that number, or never: librdkafka keeps commits for a coordinator that is
    /// unavailable, and starts to read no partition meanwhile (`rd_kafka_assignment_serve`).
    /// Held back while `isJoining` may not show a join yet: a full shard commits as soon as it is answered, and then a
    /// heartbeat's answer, which came with that one, may be making the member join.
    package func commit(_ positions: [Position], number: UInt32) {
        let group = sinks.group
        if group.heldCommits.isEmpty { group.heldUntil = sinks.joins.mayJoinUntil }
        guard group.heldUntil <= JoinWatch.now else { return group.heldCommits.append((positions, number)) }
        send(positions, number)
    }

    /// Makes the held commits when their time has come, or answers them if the member is joining.
    func releaseCommits() {
        let group = sinks.group
        guard !group.heldCommits.isEmpty else { return }
        if isJoining { return group.dropHeldCommits() }
        guard group.heldUntil <= JoinWatch.now else { return }
        for (positions, number) in exchange(&group.heldCommits, with: []) { send(positions, number) }
    }

    private func send(_ positions: [Position], _ number: UInt32) {
        let list = PartitionList(positions)
        let code = rd_kafka_commit_queue(
            client.handle, list.pointer, events, onGroupCommit, UnsafeMutableRawPointer(bitPattern: UInt(number)))
        guard let error = KafkaError(ifAny: code) else { return }
        sinks.group.events.append(.commitEnded(number: number, CommitAnswer([], error)))
    }

    /// Asks for the group's committed offsets and metadata; answered by `committed`. The answer waits for open
    /// transactions that are going to commit others.
    package func askCommitted(_ partitions: [TopicPartition]) { commits.ask(partitions, answers.post) }

    /// Asks which offsets the log holds; answered by `range` as soon as the partition has a leader.
    package func askRange(_ partition: TopicPartition) { ranges.ask([partition], answers.post) }

    /// Asks which record the log has at an offset; answered by `record` as soon as the partition has a leader. The
    /// partition need not be read.
    package func askRecord(_ position: Position) {
        lookup.ask([position]) { [answers] in answers.post(.record(position, timestamp: $0?.timestamp)) }
    }

    /// Reads the record at an offset as soon as the partition has a leader, unless the partition is given back before.
    /// `body` gets the record, lent for the call, on another thread; nil if the log holds none there.
    package func readRecord(at position: Position, _ body: @escaping @Sendable (Record?) -> Void) {
        lookup.ask([position], body)
    }
}

/// Asks the coordinator for committed offsets. Its calls block.
final class CommittedOffsets: Sendable {
    /// In milliseconds. If there is no answer by then, another client asks.
    private static let patience: Int32 = 10_000
    /// In milliseconds, the most that librdkafka accepts. If a request times out while its coordinator is unavailable,
    /// 2.0.2 uses freed memory once the coordinator is back, which ends the process (`rd_kafka_admin_coord_request`).
    private static let questionTimeout: Int32 = 3_600_000

    private let client: Mutex<Client>
    private let another: @Sendable () throws(KafkaError) -> Client
    private let group: String

    /// `another` makes a client that knows no coordinator yet.
    init(_ client: Client, group: String, another: @escaping @Sendable () throws(KafkaError) -> Client) {
        self.client = Mutex(client)
        self.another = another
        self.group = group
    }

    /// Nothing else polls the client for its reports about brokers.
    func poll() { _ = client.withLock { rd_kafka_poll($0.handle, 0) } }

    /// Those that are known, without partitions whose offset is not stable (UNSTABLE_OFFSET_COMMIT) or that have
    /// another error.
    ///
    /// librdkafka 2.0.2 keeps asking a former coordinator if requests are less than a quarter of an hour apart
    /// (`rd_kafka_coord_cache_get`); another client looks for the current one. It also helps if no answer comes: the
    /// connection may be dead, and the request on it cannot be taken back.
    func ask(_ partitions: Set<TopicPartition>) -> [Position] {
        if let known = request(partitions, by: client.withLock { $0 }) { return known }
        // The former one ends outside of the lock, because that may take a second.
        if let other = try? another() { _ = client.withLock { exchange(&$0, with: other) } }
        return []
    }

    /// nil if another client must ask.
    private func request(_ partitions: Set<TopicPartition>, by client: Client) -> [Position]? {
        let list = PartitionList(partitions)
        guard let queue = rd_kafka_queue_new(client.handle),
            let question = rd_kafka_ListConsumerGroupOffsets_new(group, list.pointer),
            let options = rd_kafka_AdminOptions_new(client.handle, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS)
        else { return [] }
        defer {
            rd_kafka_AdminOptions_destroy(options)
            rd_kafka_ListConsumerGroupOffsets_destroy(question)
            rd_kafka_queue_destroy(queue)
        }
        rd_kafka_AdminOptions_set_request_timeout(options, Self.questionTimeout, nil, 0)
        if let error = rd_kafka_AdminOptions_set_require_stable_offsets(options, 1) { rd_kafka_error_destroy(error) }
        var questions: [OpaquePointer?] = [question]
        rd_kafka_ListConsumerGroupOffsets(client.handle, &questions, 1, options, queue)
        guard let event = rd_kafka_queue_poll(queue, Self.patience) else { return nil }
        defer { rd_kafka_event_destroy(event) }
        return rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ? nil : answer(in: event)
    }

    private func answer(in event: OpaquePointer) -> [Position] {
        guard rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let result = rd_kafka_event_ListConsumerGroupOffsets_result(event)
        else { return [] }
        var count = 0
        guard let groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count) else { return [] }
        var known: [Position] = []
        for index in 0..<count {
            guard let partitions = rd_kafka_group_result_partitions(groups[index]) else { continue }
            known += PartitionResult.all(in: partitions).filter { $0.error == nil }.map(\.position)
        }
        return known
    }
}
