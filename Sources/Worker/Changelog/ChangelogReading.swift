import Kafka
import Push
import Stores
import Telemetry

/// Reads partitions of the changelog, each from where the store has it to its end, and puts them into the store. Those
/// that have much to read take turns: each is served as soon as it can be.
struct ChangelogReading {
    private static let batchSize = 20_000
    /// Milliseconds for an answer of the brokers.
    private static let patience: Int32 = 2000
    private static let tellsEvery = Duration.seconds(5)
    /// Partitions that could not be asked for are asked for again.
    private static let asksEvery = Duration.seconds(10)

    private struct Restore {
        let whenWhole: @Sendable (Int32) -> Void
        /// What its log held when that was asked.
        var log: Range<Int64>?
        /// Its turn has come.
        var isBeingRead = false
        /// What the partition must still hold, or something newer, if it is the one that was read before.
        var expected: RecordPosition?
        /// What is still coming of it says nothing.
        var isAnew = false
        /// An open transaction stands before the end, or the replica that is read lags behind it.
        var isHeldUp = false
    }

    private let properties: ClientProperties
    private let topic: String
    /// Accounts that are written at once; partitions that have no more to read together are read together.
    private let turn: Int
    private let progress: RestoreProgress
    private let log: Log
    private var restores: [Int32: Restore] = [:]
    private var batch = ChangelogBatch()
    private var reader: PartitionReader?
    /// Others are to be read.
    private var isChanged = false
    private var begin = Instant.past
    private var nextTelling = Instant.never
    private var nextAsking = Instant.never
    private var count = 0

    init(
        _ properties: ClientProperties, topic: String, turn: Int, _ progress: RestoreProgress, log: Log
    ) {
        var properties = properties
        // Nothing is skipped unnoticed.
        properties["auto.offset.reset"] = "error"
        // What is fetched waits for the store anyway.
        properties["queued.max.messages.kbytes"] = "16384"
        // An end is known when a fetch has waited in vain.
        properties["fetch.wait.max.ms"] = "10"
        self.properties = properties
        self.topic = topic
        self.turn = turn
        self.progress = progress
        self.log = log
    }

    var isIdle: Bool { restores.isEmpty }

    /// To be read on from what the store has now.
    mutating func add(_ partitions: [Int32], _ whenWhole: @escaping @Sendable (Int32) -> Void) {
        if restores.isEmpty {
            begin = TimeSource.system.now
            nextTelling = begin + Self.tellsEvery
            count = 0
        }
        for partition in partitions {
            restores[partition] = Restore(whenWhole: whenWhole)
            progress.begin(partition, 0..<0)
        }
        isChanged = isChanged || !partitions.isEmpty
    }

    mutating func remove(_ partitions: [Int32]) {
        for partition in partitions where restores.removeValue(forKey: partition) != nil { progress.end(partition) }
        guard restores.isEmpty else { return }
        reader = nil
        batch.removeAll()
    }

    /// Begins again from what the store has.
    mutating func reset() {
        reader = nil
        batch.removeAll()
        isChanged = !restores.isEmpty
    }

    /// Reads a batch into the store. Gives the partitions that are whole now, with who is to be told. Throws what may be
    /// over when it is tried again, after `reset`.
    mutating func readOn(
        _ store: borrowing ChangelogCounts
    ) throws -> [(partition: Int32, tell: @Sendable (Int32) -> Void)] {
        let reader = try openReader()
        if isChanged || nextAsking <= TimeSource.system.now { try start(reader, store) }
        var polled = RecordBatch(capacity: Self.batchSize)
        let errors = reader.poll(milliseconds: 50, into: &polled)
        let records = polled.records
        defer { for record in records { record.destroy() } }
        try take(records, store)
        if let error = errors.first { try overcome(error, store) }
        var ended: [Int32] = []
        for end in polled.ends where try reach(end, reader, store) { ended.append(end.partition) }
        if batch.count >= turn || !ended.isEmpty { try write(to: store) }
        let whole = ended.compactMap { partition in
            progress.end(partition)
            return restores.removeValue(forKey: partition).map { (partition, $0.whenWhole) }
        }
        if !restores.values.contains(where: \.isBeingRead) { isChanged = true }
        tell()
        return whole
    }

    private mutating func openReader() throws(KafkaError) -> PartitionReader {
        if let reader { return reader }
        let opened = try PartitionReader(properties, tellsEnds: true) { [log] level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
        reader = opened
        isChanged = true
        return opened
    }

    private mutating func start(_ reader: PartitionReader, _ store: borrowing ChangelogCounts) throws {
        try write(to: store)
        var positions: [Position] = []
        var total = 0
        var areAway = 0
        for partition in restores.keys.sorted() {
            guard let log = look(at: partition, reader) else {
                areAway += 1
                continue
            }
            let last = try store.resume(partition, now: SystemTime.milliseconds)
            let next = last?.offset ?? log.lowerBound
            let left = next..<max(next, log.upperBound)
            progress.begin(partition, left)
            let isNext = positions.isEmpty || total + left.count <= turn
            restores[partition]?.isBeingRead = isNext
            restores[partition]?.expected = last
            restores[partition]?.isAnew = false
            guard isNext else { continue }
            total += left.count
            // The last record is read again, to see whether it is the same.
            let place = TopicPartition(topic, partition)
            positions.append(Position(place, offset: last?.offset ?? Position.beginning))
        }
        guard areAway < restores.count else { throw KafkaError("no partition of the badge changelog can be read") }
        nextAsking = areAway > 0 ? TimeSource.system.now + Self.asksEvery : .never
        try reader.read(from: positions)
        isChanged = false
        log.info(
            "badge counts are read from their changelog",
            [.topic(topic), .partitions(positions.map(\.partition).summary), .count(total)])
    }

    /// nil for a partition that is away. It may be so for long, and the others need not wait for it.
    private mutating func look(at partition: Int32, _ reader: PartitionReader) -> Range<Int64>? {
        if let log = restores[partition]?.log { return log }
        do throws(KafkaError) {
            let (low, high) = try reader.watermarks(
                of: TopicPartition(topic, partition), milliseconds: Self.patience)
            restores[partition]?.log = low..<max(low, high)
        } catch {
            log.warning(
                "a partition of the badge changelog cannot be read yet",
                [.topic(topic), .partition(partition), .error(error)])
            restores[partition]?.isBeingRead = false
        }
        return restores[partition]?.log
    }

    private mutating func take(_ records: [Record], _ store: borrowing ChangelogCounts) throws(StoreError) {
        var read: [Int32: (records: Int, next: Int64)] = [:]
        for record in records {
            guard try isWanted(record, store) else { continue }
            read[record.partition] = ((read[record.partition]?.records ?? 0) + 1, record.offset + 1)
            guard let refused = batch.add(TopicRecord(record)) else { continue }
            log.warning(
                "a record of the badge changelog is none",
                [
                    .topic(topic), .partition(refused.position.partition), .offset(refused.position.offset),
                    .reason(refused.what),
                ])
        }
        for (partition, read) in read {
            count += read.records
            progress.read(partition, records: read.records, next: read.next)
        }
    }

    private mutating func write(to store: borrowing ChangelogCounts) throws(StoreError) {
        guard !batch.isEmpty else { return }
        try store.apply(batch, now: SystemTime.milliseconds)
        batch.removeAll()
    }

    /// False for what is of no partition that is being read, or of one that is to be read anew.
    private mutating func isWanted(_ record: Record, _ store: borrowing ChangelogCounts) throws(StoreError) -> Bool {
        guard let restore = restores[record.partition], restore.isBeingRead, !restore.isAnew else { return false }
        guard let last = restore.expected else { return true }
        restores[record.partition]?.expected = nil
        // Compaction may have put a later one in its place, and a broker that stamps records tells its own time.
        guard record.offset == last.offset, record.timestamp != last.timestamp, record.timestampKind == .create else {
            return true
        }
        try readAnew(record.partition, store)
        return false
    }

    private mutating func readAnew(_ partition: Int32, _ store: borrowing ChangelogCounts) throws(StoreError) {
        log.warning(
            "the badge changelog is not what it was: its counts are read anew",
            [.topic(topic), .partition(partition)])
        try store.startOver(partition)
        restores[partition]?.isAnew = true
        isChanged = true
    }

    private mutating func overcome(_ error: KafkaError, _ store: borrowing ChangelogCounts) throws {
        let known = restores.filter { $0.value.expected != nil }.keys
        guard error.isOffsetOutOfLog, !known.isEmpty else { throw error }
        for partition in known { try readAnew(partition, store) }
    }

    /// True if the partition's counts are whole.
    private mutating func reach(
        _ end: PartitionEnd, _ reader: PartitionReader, _ store: borrowing ChangelogCounts
    ) throws -> Bool {
        guard let restore = restores[end.partition], !isChanged else { return false }
        if let last = restore.expected, end.offset <= last.offset {
            try readAnew(end.partition, store)
            return false
        }
        // What a transaction holds that is committed but not everywhere yet must not be missed: nor is an open one known
        // to come to nothing, and a replica may lag behind its leader, who is asked.
        let place = TopicPartition(topic, end.partition)
        let (_, high) = try reader.watermarks(of: place, milliseconds: Self.patience)
        guard end.offset < max(high, reader.fetchedEnd(of: place) ?? high) else { return true }
        if !restore.isHeldUp {
            restores[end.partition]?.isHeldUp = true
            log.info(
                "the end of the badge changelog is awaited: a transaction is open, or a replica late",
                [.topic(topic), .partition(end.partition), .offset(end.offset)])
        }
        return false
    }

    private mutating func tell() {
        let now = TimeSource.system.now
        if restores.isEmpty {
            let took = now.nanoseconds(since: begin)
            log.info(
                "badge counts are restored",
                [.topic(topic), .count(count), .seconds(Double(took) / 1_000_000_000)])
            reader = nil
        } else if now >= nextTelling {
            nextTelling = now + Self.tellsEvery
            let (read, total) = progress.records
            log.info(
                "badge counts are being read",
                [.topic(topic), .count(read), .total(total)])
        }
    }
}
