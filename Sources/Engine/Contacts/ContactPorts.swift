import PushmillKafka
import PushmillStages
import PushmillStores

/// The contacts follower's interface to brokers and clocks, for its thread alone. A test has its own.
protocol ContactPorts {
    /// The monotonic clock.
    var now: Instant { get }
    /// Milliseconds since 1970.
    var wallClock: Int64 { get }

    func partitionCount(of topic: String) throws -> Int

    /// The offsets that the logs hold, without partitions whose leader does not answer.
    func ranges(of partitions: Set<TopicPartition>) -> [TopicPartition: Range<Int64>]

    /// Answers with the timestamps of the records at these positions, one for each partition, or nil if the log has
    /// none there. Gives no answer for some if their leaders do not. Ends what `read` has begun.
    func look(at positions: [Position], _ answer: (Position, Int64?) -> Void) throws

    /// From now on reads these, and only these.
    func read(from positions: [Position]) throws

    /// Takes what there is to read, or waits for it for a moment. The records are lent for the call of `body`.
    func poll(limit: Int, _ body: (ContactBatch) throws -> Void) throws
}

struct ContactBatch {
    var records: [TopicRecord] = []
    /// Ends that were reached. If not `isWhole`, an open transaction precedes the end of the log.
    var ends: [(partition: Int32, offset: Int64, isWhole: Bool)] = []
    /// No more comes from these: their logs do not have the offset to read.
    var outOfLog: [Int32] = []
    /// These are read again by themselves.
    var failed: [(partition: Int32, error: any Error)] = []
    /// The topic as a whole cannot be read.
    var failure: (any Error)?
}

extension PartitionReader: ContactPorts {
    /// Milliseconds to wait for an answer from brokers.
    private static var patience: Int32 { 2000 }

    var now: Instant { TimeSource.system.now }
    var wallClock: Int64 { SystemTime.milliseconds }

    func partitionCount(of topic: String) throws -> Int {
        try partitionCount(of: topic, milliseconds: Self.patience)
    }

    func look(at positions: [Position], _ answer: (Position, Int64?) -> Void) throws {
        try look(at: positions) { (position: Position, record: Record?) in answer(position, record?.timestamp) }
    }

    func poll(limit: Int, _ body: (ContactBatch) throws -> Void) throws {
        let batch = poll(milliseconds: 100, limit: limit)
        defer { for record in batch.records { record.destroy() } }
        let records = batch.records.map { record -> TopicRecord in
            let position = RecordPosition(
                partition: record.partition, offset: record.offset, timestamp: record.timestamp)
            return (position, record.key, record.value)
        }
        let others = batch.errors.filter { !$0.error.isOffsetOutOfLog }
        try body(
            ContactBatch(
                records: records, ends: batch.ends,
                outOfLog: batch.errors.filter(\.error.isOffsetOutOfLog).map(\.partition),
                failed: others, failure: others.first { $0.error.isOfTopic }?.error))
    }
}
