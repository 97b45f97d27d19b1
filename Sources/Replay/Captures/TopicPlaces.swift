import PushmillKafka

/// Finds where a range begins and ends in a partition.
struct TopicPlaces {
    static let patience: Int32 = 10_000

    let reader: PartitionReader
    /// Nil means the brokers' own.
    let timeIndex: TopicRecords.TimeIndex?

    /// The offsets to read, limited to those that the log holds. They have all records of the range, and may have others
    /// of other times. Throws if the first offset asked for is gone.
    func offsets(of range: TopicRange, in partition: TopicPartition) throws(ReplayError) -> Range<Int64> {
        let log = try asked("requesting the offsets of \(partition)") { () throws(KafkaError) in
            try reader.range(of: partition, milliseconds: Self.patience)
        }
        if case .offset(let offset) = range.from, offset < log.lowerBound {
            throw .unreadable(
                name: "topic \(partition.topic)",
                what: "partition \(partition.partition) begins at offset \(log.lowerBound); \(offset) was deleted")
        }
        let from: Int64? =
            switch range.from {
            case .offset(let offset): offset
            case .time(let time): try firstOffset(since: time, in: partition, log)
            case nil: nil
            }
        let first = min(max(from ?? log.lowerBound, log.lowerBound), log.upperBound)
        // A record after the first one of a later time may be of an earlier time.
        guard case .offset(let offset) = range.to else { return first..<log.upperBound }
        return first..<max(first, min(offset, log.upperBound))
    }

    /// No record of `time` or later comes before this offset. The index also counts transaction markers, which have the
    /// brokers' time: so it may name an earlier offset than that of the first such record, but none after it.
    private func firstOffset(
        since time: Int64, in partition: TopicPartition, _ log: Range<Int64>
    ) throws(ReplayError) -> Int64 {
        let find = timeIndex ?? brokersOffset
        if let offset = try find(time, partition) { return offset }
        // An index that finds a record since 1970 would also find one since `time`: there is none. The embedded broker
        // has no index.
        return try find(0, partition) == nil ? log.lowerBound : log.upperBound
    }

    private func brokersOffset(since time: Int64, _ partition: TopicPartition) throws(ReplayError) -> Int64? {
        try asked("requesting the offset for a time in \(partition)") { () throws(KafkaError) in
            try reader.offset(since: time, in: partition, milliseconds: Self.patience)
        }
    }
}

/// Reads the records in a range of one partition.
struct PartitionReading {
    /// After this many polls without a word from a broker, something is wrong.
    private static let attempts = 60
    private static let milliseconds: Int32 = 500
    private static let mostRecords = 1000

    private let reader: PartitionReader
    private let partition: TopicPartition
    private let offsets: Range<Int64>
    private var isOver: Bool
    /// The partition may not be read. librdkafka reports it once.
    private var refusal: KafkaError?

    init(_ reader: PartitionReader, _ partition: TopicPartition, _ offsets: Range<Int64>) throws(ReplayError) {
        self.reader = reader
        self.partition = partition
        self.offsets = offsets
        isOver = offsets.isEmpty
        guard !isOver else { return }
        try asked("reading \(partition)") { () throws(KafkaError) in
            try reader.read(from: [Position(partition, offset: offsets.lowerBound)])
        }
    }

    /// Lends up to `limit` records to `body`, which must not keep them; false when there are no more. Once `isEnding`
    /// it lends none.
    mutating func next(
        _ limit: Int = .max, isEnding: () -> Bool = { false }, _ body: (Record) -> Void
    ) throws(ReplayError) -> Bool {
        var lastError: KafkaError?
        for _ in 0..<Self.attempts where !isOver {
            if isEnding() { return true }
            let batch = reader.poll(milliseconds: Self.milliseconds, limit: min(limit, Self.mostRecords))
            lastError = batch.errors.last?.error ?? lastError
            refusal = batch.errors.first(where: \.error.isForbidden)?.error ?? refusal
            for record in batch.records {
                if offsets.contains(record.offset) { body(record) }
                if record.offset >= offsets.upperBound - 1 { isOver = true }
                record.destroy()
            }
            if batch.ends.contains(where: { $0.partition == partition.partition }) { isOver = true }
            if let error = batch.errors.first(where: \.error.isOffsetOutOfLog)?.error {
                throw .kafka(doing: "reading \(partition), whose records have been deleted", error)
            }
            if isOver || !batch.records.isEmpty { return true }
            if let refusal { throw .kafka(doing: "reading \(partition)", refusal) }
        }
        if isOver { return false }
        throw .kafka(doing: "reading \(partition)", lastError ?? KafkaError("no broker returned a record"))
    }
}
