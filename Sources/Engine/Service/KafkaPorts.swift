import CPushmillMemory
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTelemetry
import Synchronization

/// The ports of a real shard: its own consumer, producer and changelog reader, the chain with its pool, the folder of
/// counts, the log. Only the shard's thread uses them, except `inbox`.
struct KafkaPorts: ShardPorts, ~Copyable {
    /// How long a transaction step may block the thread, in milliseconds. `addOffsets` has a longer bound.
    static let stepPatience: Int32 = 500

    let settings: EngineSettings
    let environment: EngineEnvironment
    let inbox: ShardInbox
    let consumer: GroupConsumer
    var producer: OutputProducer
    var topics: OutputTopics
    let reader: ChangelogReader?
    let pool: StagePool
    /// Dead letters that were asked for, by the tags of their requests.
    let letters: Mailbox<(tag: UInt64, output: HeldOutput)>
    var counters: MessageMetrics
    private(set) var now = TimeSource.system.now
    private(set) var wallClock = SystemTime.milliseconds

    /// The input topics, by the numbers that records carry.
    var sources: [SourceTopic] = []
    private var consumed: [Counter] = []
    private var taken: [Int] = []
    private(set) var hasJoined = false
    /// Why the consumer cannot go on, such as a join that the group refused; nil once it has an assignment.
    private(set) var consumerError: KafkaError?
    /// Partitions that were assigned, and neither revoked nor lost since.
    private var owned: Set<TopicPartition> = []

    /// Topics that the producer turns outputs away from, until brokers have stored one, and why.
    var turnedAway: [(topic: OutputTopic, reason: String)] = []
    /// Since when dead letters wait to be sent, as far as figures were made.
    var lettersHeldSince: Instant?
    var refusal: Refusal?
    /// When commits were made, by number, and when the transaction's end was asked for.
    private var commitsSince: [UInt32: Instant] = [:]
    var transactionSince: Instant?
    /// When transaction steps began to need retries; nil if the last one needed none.
    var stuckSince: Instant?
    /// When something was last acknowledged, or no answer was awaited.
    var lastAnswer = Instant.past
    /// An output came back unstored: until then only the answer to another one counts.
    var awaitedUntil = Instant.past

    // The chain: see KafkaPorts+Chain.
    var current = Delivery()
    var group = DeliveryGroup()
    var verdict: Verdict?
    /// When the current message's turn began.
    var turn = Instant.past
    /// The current message while its bytes belong to librdkafka.
    var lent: Record?
    /// Headers taken from the current message for an output that was not queued.
    var keptHeaders: Headers?
    /// The current dead letter was refused: the next one only names its message.
    var isNameOnly = false
    /// The timestamp of the dead letter that takes the place of the current message's output.
    var letterTimestamp: Int64?
    var suspended: [Delivery?]
    /// When the turns of suspended messages began, by entry.
    var turns: [Instant]
    var spare: [Delivery] = []
    /// By entry: what the report of its output adds to the metrics.
    var facts: [OutputFacts]
    var accountKey: [UInt8] = []
    /// Messages begun since the clock was last read.
    var begun = 0
    /// Messages whose stages all ended well, and which no counter has yet.
    var okayMessages = 0

    init(_ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox) throws(KafkaError) {
        let sink = environment.kafkaLog
        let consumer = try GroupConsumer(
            settings.consumer(of: inbox.shard), signal: inbox.signal, asking: environment.asking, log: sink)
        let producer = try OutputProducer(settings.producer(of: inbox.shard), signal: inbox.signal, log: sink)
        let topics = try OutputTopics(settings, producer)
        let reader = try settings.changelog.map { topic throws(KafkaError) in
            try ChangelogReader(topic, settings.reader, signal: inbox.signal, log: sink)
        }
        try consumer.subscribe(to: settings.input)
        self.settings = settings
        self.environment = environment
        self.inbox = inbox
        self.consumer = consumer
        self.producer = producer
        self.topics = topics
        self.reader = reader
        pool = StagePool { inbox.results.post($0) }
        letters = Mailbox(inbox.signal)
        counters = environment.metrics.messages.shard(inbox.shard)
        let capacity = settings.shard.maxInFlight + 1
        suspended = Array(repeating: nil, count: capacity)
        turns = Array(repeating: .past, count: capacity)
        facts = Array(repeating: OutputFacts(), count: capacity)
    }

    mutating func wait(until time: Instant, records: Bool) {
        let milliseconds = (time.nanoseconds(since: now) + 999_999) / 1_000_000
        countTaken()
        if milliseconds > 0 {
            consumer.wait(milliseconds: Int64(clamping: min(milliseconds, 60_000)), records: records)
        }
        tick()
    }

    mutating func tick() {
        begun = 0
        now = TimeSource.system.now
        wallClock = SystemTime.milliseconds
    }

    mutating func takeEvents() -> [ConsumerEvent] {
        var events: [ConsumerEvent] = []
        consumer.takeEvents(into: &events)
        for event in events { note(event) }
        return events
    }

    private mutating func note(_ event: ConsumerEvent) {
        switch event {
        case .assigned(let partitions):
            hasJoined = true
            consumerError = nil
            consumer.forgetRefusal()
            owned.formUnion(partitions)
        case .revoked(let partitions): owned.subtract(partitions)
        // A dropped member loses everything, and gets an assignment, if only an empty one, when the group has it back.
        // If a topic is deleted, a member loses only the topic's partitions, and may get no new assignment.
        case .lost(let partitions):
            owned.subtract(partitions)
            if owned.isEmpty { hasJoined = false }
        case .commitEnded(let number, let answer):
            let since = commitsSince.removeValue(forKey: number)
            switch answer {
            case .accepted: if let since { observeCheckpoint(since) }
            case .partly, .denied: break
            // Also those that were held back and dropped for a join. The shard tells if the group goes on to be silent.
            case .retry(.unanswered): break
            case .retry(let error): environment.log.info("offsets were not committed, trying again", [.error(error)])
            case .refused(let error): environment.log.warning("offsets were not committed", [.error(error)])
            }
        case .unowned(let partitions):
            environment.log.warning(
                "partitions have no owner: asking the group to rebalance",
                environment.fields(partitions))
        case .failed(let error):
            consumerError = error
            environment.log.error("cannot read the input", [.error(error)])
        case .memberIDChanged, .committed, .outOfLog, .range, .record: break
        }
    }

    mutating func acceptAssignment() { change { try consumer.acceptAssignment() } }

    mutating func read(_ positions: [Position]) { change { try consumer.read(positions) } }

    mutating func stop(_ partition: TopicPartition) { change { try consumer.stop(partition) } }

    mutating func giveBack(_ partitions: [TopicPartition]) { change { try consumer.giveBack(partitions) } }

    mutating func leave() { change { try consumer.leave() } }

    private func change(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            environment.log.error("cannot change the assignment", [.error(error)])
        }
    }

    mutating func seek(to position: Position) -> Bool { consumer.seek(to: position) }

    mutating func askCommitted(_ partitions: [TopicPartition]) { consumer.askCommitted(partitions) }

    mutating func askRange(_ partition: TopicPartition) { consumer.askRange(partition) }

    mutating func askRecord(_ position: Position) { consumer.askRecord(position) }

    mutating func commit(_ positions: [Position], number: UInt32) {
        if commitsSince.count > 100 { commitsSince.removeAll() }
        commitsSince[number] = now
        consumer.commit(positions, number: number)
    }

    func observeCheckpoint(_ since: Instant) {
        let took = TimeSource.system.now.nanoseconds(since: since)
        environment.metrics.checkpointSeconds.observe(nanoseconds: Int64(clamping: took))
    }

    var isJoining: Bool { consumer.isJoining }

    var hasLeft: Bool { consumer.hasLeft }

    mutating func nextMessage() -> Record? {
        guard let record = consumer.nextRecord() else { return nil }
        let topic = Int(record.topic)
        if topic >= taken.count { learnTopics(upTo: topic) }
        taken[topic] += 1
        // A broker's thread wrote the record, so its memory is cold here. Its headers follow the value.
        if let value = record.value { pushmill_prefetch_run(value.baseAddress, value.count + Self.headersSize) }
        return record
    }

    /// The usual size of headers, in bytes.
    private static var headersSize: Int { 192 }

    private mutating func learnTopics(upTo topic: Int) {
        while taken.count <= topic {
            let name = consumer.topicName(UInt32(taken.count))
            taken.append(0)
            consumed.append(environment.metrics.consumed(topic: name))
            sources.append(SourceTopic(name))
        }
    }

    /// Adds the messages taken since the last call to the counters that a scrape reads.
    private mutating func countTaken() {
        countOkayMessages()
        for topic in taken.indices where taken[topic] > 0 {
            consumed[topic].add(taken[topic])
            taken[topic] = 0
        }
    }

    mutating func release(_ message: Record) { message.destroy() }

    mutating func own(_ message: Record) -> Record { message.owned() }

    mutating func number(ofTopic topic: String) -> UInt32 {
        let number = consumer.number(ofTopic: topic)
        learnTopics(upTo: Int(number))
        return number
    }

    mutating func replicate(_ starts: [RecordPosition]) {
        change { try reader?.replicate(starts.map { ($0.partition, $0.offset) }) }
    }

    mutating func takeReplica(limit: Int, _ body: (ChangelogEvent) -> Void) {
        var count = 0
        _ = reader?.poll(limit: limit) { [environment] event in
            switch event {
            case .record: count += 1
            case .failed(let error):
                environment.log.warning(
                    "cannot read the badge changelog, trying again", environment.counting + [.error(error)])
            case .end, .outOfLog: break
            }
            body(event)
        }
        if count > 0 { environment.metrics.restoredRecords.add(count) }
    }

    mutating func prepare(_ partition: TopicPartition) -> Bool {
        environment.contacts?.isReady(partition, for: inbox.shard) ?? true
    }

    mutating func forget(_ partitions: [TopicPartition]) {
        environment.contacts?.forget(partitions, for: inbox.shard)
    }

    mutating func openDisk(_ partition: TopicPartition) -> CountFile {
        guard let counts = environment.counts else { preconditionFailure("nothing is counted without a folder for it") }
        return counts.open(topic: partition.topic, partition: partition.partition) { [environment] news in
            environment.tell(news, of: partition)
        }
    }

    mutating func takeTerminations() -> Int { inbox.takeTerminations() }

    mutating func takeStageResults(into entries: inout [Int]) { entries += inbox.results.take() }
}

extension Record: LentMessage {
    /// The same rule as that of `InputRecord`.
    var recipient: UnsafeRawBufferPointer? { recipient(headers) }

    func recipient(_ headers: HeaderView?) -> UnsafeRawBufferPointer? {
        guard let named = headers?.last("recipient"), !named.isEmpty else { return key }
        return named
    }

    /// Lends the record's bytes to an input record.
    func fill(_ input: InputRecord, topic: SourceTopic) {
        let headers = headers
        input.fill(
            Source(topic: topic, partition: partition, offset: offset), timestamp: timestamp, key: key, value: value,
            headers: headers?.count ?? 0
        ) { index in
            headers?.entry(index).map { RecordHeader(name: $0.name, value: $0.value) }
        }
    }
}

enum SystemTime {
    /// Milliseconds since 1970.
    static var milliseconds: Int64 { WallClock.system.now() / 1_000_000 }
}
