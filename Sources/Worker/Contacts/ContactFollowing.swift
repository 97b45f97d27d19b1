import Kafka
import Push
import Stores
import Telemetry

/// Reads a topic of contacts: from where the store has it, or from its beginning, and on until it is told to end.
struct ContactFollowing {
    private static let batchSize = 10_000
    /// Milliseconds for an answer of the brokers.
    private static let patience: Int32 = 2000
    private static let pause = Duration.seconds(1)
    private static let tellsEvery = Duration.seconds(5)
    private static let looksEvery = Duration.seconds(60)

    /// The topic is not the one that was read before.
    private struct OtherTopic: Error {}

    private let properties: ClientProperties
    private let topic: String
    private let cluster: String
    private let state: StateFile
    private let progress: ContactProgress
    private let log: Log
    private let end: Mailbox<Void>
    private var isEnding = false
    /// What a partition must still hold, or something newer, if it is the one that was read before.
    private var expected: [Int32: RecordPosition] = [:]
    /// Partitions that have not been read to their ends.
    private var unread: Set<Int32> = []
    private var begin = Instant.past
    private var nextTelling = Instant.never
    private var nextLook = Instant.never

    init(
        _ properties: ClientProperties, topic: String, of cluster: String, _ state: StateFile,
        _ progress: ContactProgress, _ log: Log, end: Mailbox<Void>
    ) {
        var properties = properties
        // Nothing is skipped unnoticed.
        properties["auto.offset.reset"] = "error"
        // Contacts trickle in; what has piled up is written more slowly than it is fetched.
        properties["queued.max.messages.kbytes"] = "8192"
        self.properties = properties
        self.topic = topic
        self.cluster = cluster
        self.state = state
        self.progress = progress
        self.log = log
        self.end = end
    }

    /// The thread's life.
    mutating func serve() {
        while !hasEnded(until: .past) {
            do {
                try follow()
            } catch {
                log.error("contacts cannot be read from their topic, trying again", [.topic(topic), .error(error)])
                _ = hasEnded(until: TimeSource.system.now + Self.pause)
            }
        }
    }

    /// Throws what may be over when it is tried again.
    private mutating func follow() throws {
        let reader = try PartitionReader(properties, tellsEnds: true) { [log] level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
        let count = try reader.partitionCount(of: topic, milliseconds: Self.patience)
        let contacts = try TopicContacts(state, topic: topic, cluster: cluster)
        let positions = try contacts.resume(partitions: count, now: SystemTime.milliseconds)
        do {
            try start(reader, positions, count)
            while !hasEnded(until: .past) { try read(reader, contacts, partitions: count) }
        } catch is OtherTopic {
            log.warning("the topic of contacts is not what it was: they are all read anew", [.topic(topic)])
            try contacts.startOver(now: SystemTime.milliseconds)
        }
    }

    private mutating func start(_ reader: PartitionReader, _ positions: [RecordPosition], _ count: Int) throws {
        expected = Dictionary(uniqueKeysWithValues: positions.map { ($0.partition, $0) })
        unread = Set(0..<Int32(count))
        let places = (0..<Int32(count)).map { TopicPartition(topic, $0) }
        var total: Int64 = 0
        for place in places {
            let (low, high) = try reader.watermarks(of: place, milliseconds: Self.patience)
            total += max(0, high - (expected[place.partition]?.offset ?? low))
        }
        // The last record is read again, to see whether it is the same.
        try reader.read(
            from: places.map { Position($0, offset: expected[$0.partition]?.offset ?? Position.beginning) })
        progress.begin(total: Int(total), isAnew: positions.isEmpty)
        begin = TimeSource.system.now
        nextTelling = begin + Self.tellsEvery
        nextLook = begin + Self.looksEvery
        log.info("contacts are read from their topic", [.topic(topic), .count(Int(total))])
    }

    private mutating func read(_ reader: PartitionReader, _ contacts: borrowing TopicContacts, partitions: Int) throws {
        var batch = RecordBatch(capacity: Self.batchSize)
        let errors = reader.poll(milliseconds: 100, into: &batch)
        let records = batch.records
        defer { for record in records { record.destroy() } }
        try apply(records, contacts)
        for end in batch.ends { try reach(end) }
        if let error = errors.first { throw error.isOffsetOutOfLog ? OtherTopic() : error }
        try look(reader, contacts, partitions: partitions)
    }

    private mutating func apply(_ records: [Record], _ contacts: borrowing TopicContacts) throws {
        guard !records.isEmpty else { return }
        let records = records.map { TopicRecord($0) }
        for record in records where !expected.isEmpty { try compare(record.position) }
        for refused in try contacts.apply(records, now: SystemTime.milliseconds) {
            log.warning(
                "a record of the topic of contacts is none",
                [
                    .topic(topic), .partition(refused.position.partition), .offset(refused.position.offset),
                    .reason(refused.what),
                ])
        }
        progress.add(records.count)
    }

    private mutating func compare(_ position: RecordPosition) throws {
        guard let last = expected.removeValue(forKey: position.partition) else { return }
        // Compaction may have put a later one in its place.
        if position.offset == last.offset, position.timestamp != last.timestamp { throw OtherTopic() }
    }

    private mutating func reach(_ end: PartitionEnd) throws {
        if let last = expected[end.partition], end.offset <= last.offset { throw OtherTopic() }
        guard unread.remove(end.partition) != nil, unread.isEmpty else { return }
        progress.end()
        let took = TimeSource.system.now.nanoseconds(since: begin)
        log.info(
            "contacts are restored",
            [.topic(topic), .count(progress.records.read), .seconds(Double(took) / 1_000_000_000)])
    }

    /// What is due by the clock.
    private mutating func look(_ reader: PartitionReader, _ contacts: borrowing TopicContacts, partitions: Int) throws {
        let now = TimeSource.system.now
        if !unread.isEmpty, now >= nextTelling {
            nextTelling = now + Self.tellsEvery
            let (read, total) = progress.records
            log.info("contacts are being read", [.topic(topic), .count(read), .total(total)])
        }
        guard now >= nextLook else { return }
        nextLook = now + Self.looksEvery
        try contacts.see(now: SystemTime.milliseconds)
        let count = try reader.partitionCount(of: topic, milliseconds: Self.patience)
        guard count == partitions else { throw PartitionsChanged(from: partitions, to: count) }
    }

    private mutating func hasEnded(until limit: Instant) -> Bool {
        guard !isEnding else { return true }
        var told: [Void] = []
        end.take(into: &told, until: limit)
        isEnding = !told.isEmpty
        return isEnding
    }
}

private struct PartitionsChanged: Error, CustomStringConvertible {
    let from: Int
    let to: Int

    var description: String { "the topic has \(to) partitions now, it had \(from)" }
}
