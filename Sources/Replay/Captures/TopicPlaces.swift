import PushmillKafka

/// Finds where a range begins and ends in a partition.
struct TopicPlaces {
    static let patience: Int32 = 10_000

    let reader: PartitionReader
    /// Nil means the brokers' own.
    let timeIndex: TopicRecords.TimeIndex?

    /// The offsets to read, limited to those that the log holds. Throws if the first offset asked for is gone.
    func offsets(of range: TopicRange, in partition: TopicPartition) throws(ReplayError) -> Range<Int64> {
        let log = try asked("requesting the offsets of \(partition)") { () throws(KafkaError) in
            try reader.range(of: partition, milliseconds: Self.patience)
        }
        if case .offset(let offset) = range.from, offset < log.lowerBound {
            throw .unreadable(
                name: "topic \(partition.topic)",
                what: "partition \(partition.partition) begins at offset \(log.lowerBound); \(offset) was deleted")
        }
        let from = try range.from.map { bound throws(ReplayError) in try offset(of: bound, in: partition, log) }
        let to = try range.to.map { bound throws(ReplayError) in try offset(of: bound, in: partition, log) }
        let first = min(max(from ?? log.lowerBound, log.lowerBound), log.upperBound)
        let last = min(to ?? log.upperBound, log.upperBound)
        return first..<max(first, last)
    }

    private func offset(
        of bound: TopicRange.Bound, in partition: TopicPartition, _ log: Range<Int64>
    ) throws(ReplayError) -> Int64 {
        switch bound {
        case .offset(let offset): return offset
        case .time(let time):
            let find = timeIndex ?? brokersOffset
            if let offset = try find(time, partition) { return offset }
            // An index that finds a record since 1970 would also find one since `time`: there is none.
            if try find(0, partition) != nil { return log.upperBound }
            return try scan(for: time, in: partition, log)
        }
    }

    private func brokersOffset(since time: Int64, _ partition: TopicPartition) throws(ReplayError) -> Int64? {
        try asked("requesting the offset for a time in \(partition)") { () throws(KafkaError) in
            try reader.offset(since: time, in: partition, milliseconds: Self.patience)
        }
    }

    /// Without an index, as with the embedded broker, the records' own timestamps decide.
    private func scan(
        for time: Int64, in partition: TopicPartition, _ log: Range<Int64>
    ) throws(ReplayError) -> Int64 {
        var found: Int64?
        var reading = try PartitionReading(reader, partition, log)
        var isOpen = true
        while isOpen, found == nil {
            isOpen = try reading.next { record in
                if found == nil, record.timestamp >= time { found = record.offset }
            }
        }
        return found ?? log.upperBound
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
        }
        if isOver { return false }
        throw .kafka(doing: "reading \(partition)", lastError ?? KafkaError("no broker returned a record"))
    }
}
