package import PushmillKafka
package import PushmillPayload

/// A part of a topic as a source, one partition after another, so the order is the same each time. Reads committed
/// records only, outside of any consumer group.
package final class TopicRecords: RecordSource {
    package var name: String { "topic \(topic)" }
    private let topic: String
    /// How many offsets there are to read; some may hold no record of the range.
    package let span: Int64
    /// Gets the number of records so far that were read but have another time than those of the range.
    package var onSkip: (Int) -> Void = { _ in }
    private var skipped = 0
    private let range: TopicRange
    /// Where to continue after `next` has come to its end.
    package let ends: [Position]
    /// Where the range begins, which may be beyond `ends`.
    private let lowest: Int64
    private let reader: PartitionReader
    private var parts: [(partition: TopicPartition, offsets: Range<Int64>)]
    private var reading: PartitionReading?
    private var isFollowing = false

    /// The first offset whose timestamp is not before `time`; nil if the index knows none.
    package typealias TimeIndex = (_ time: Int64, _ partition: TopicPartition) throws(ReplayError) -> Int64?

    /// `timeIndex` is the brokers' unless a test passes its own.
    package init(
        _ range: TopicRange, _ properties: ClientProperties, timeIndex: TimeIndex? = nil
    ) throws(ReplayError) {
        topic = range.topic
        self.range = range
        lowest = if case .offset(let offset) = range.from { offset } else { 0 }
        var properties = properties
        // Records that retention deletes meanwhile cause an error instead of being skipped.
        properties["auto.offset.reset"] = "error"
        let reader = try asked("reading the topic \(range.topic)") { () throws(KafkaError) in
            try PartitionReader(properties, tellsEnds: true, log: { _, _, _ in })
        }
        self.reader = reader
        let places = TopicPlaces(reader: reader, timeIndex: timeIndex)
        var parts: [(partition: TopicPartition, offsets: Range<Int64>)] = []
        for partition in try Self.partitions(of: range, reader) {
            parts.append((partition, try places.offsets(of: range, in: partition)))
        }
        ends = parts.map { Position($0.partition, offset: $0.offsets.upperBound) }
        span = parts.reduce(0) { $0 + Int64($1.offsets.count) }
        self.parts = parts.reversed()
    }

    private static func partitions(
        of range: TopicRange, _ reader: PartitionReader
    ) throws(ReplayError) -> [TopicPartition] {
        let count = try asked("requesting the topic \(range.topic)") { () throws(KafkaError) in
            try reader.partitionCount(of: range.topic, milliseconds: TopicPlaces.patience)
        }
        let numbers = range.partitions.isEmpty ? Array(0..<Int32(clamping: count)) : Set(range.partitions).sorted()
        for number in numbers where !(0..<Int32(clamping: count)).contains(number) {
            throw .unreadable(
                name: "topic \(range.topic)", what: "has no partition \(number): it has \(count), numbered from 0")
        }
        return numbers.map { TopicPartition(range.topic, $0) }
    }

    package func next(_ limit: Int) throws(ReplayError) -> [RecordEnvelope] { try next(limit) { false } }

    /// Returns no records once `isEnding`.
    func next(_ limit: Int, isEnding: () -> Bool) throws(ReplayError) -> [RecordEnvelope] {
        var records: [RecordEnvelope] = []
        while records.isEmpty, !isEnding() {
            if reading == nil {
                guard let part = parts.popLast() else { break }
                reading = try PartitionReading(reader, part.partition, part.offsets)
            }
            let before = skipped
            let isOpen = try reading?.next(limit, isEnding: isEnding) { record in
                if range.isInRange(record.timestamp) {
                    records.append(RecordEnvelope(record, topic: topic))
                } else {
                    skipped += 1
                }
            }
            if skipped > before { onSkip(skipped) }
            if isOpen != true { reading = nil }
        }
        return records
    }

    package func failure(at index: Int, _ what: String) -> ReplayError { .unreadable(name: name, what: what) }

    package func isInRange(_ time: Int64) -> Bool { range.isInRange(time) }

    /// Reads beyond `ends`: returns what comes within `milliseconds`, which may be nothing. Only after `next` has come
    /// to its end.
    package func follow(milliseconds: Int32) throws(ReplayError) -> [RecordEnvelope] {
        if !isFollowing {
            try asked("reading the \(name)") { () throws(KafkaError) in try reader.read(from: ends) }
            isFollowing = true
        }
        let batch = reader.poll(milliseconds: milliseconds)
        defer { for record in batch.records { record.destroy() } }
        // Nothing more would come from its partition, whatever comes from others.
        if let error = batch.errors.first(where: \.error.isOffsetOutOfLog)?.error {
            throw .kafka(doing: "reading the \(name), whose records have been deleted", error)
        }
        if batch.records.isEmpty, let error = batch.errors.first(where: { !$0.error.isTimeOut })?.error {
            throw .kafka(doing: "reading the \(name)", error)
        }
        let records = batch.records.filter { $0.offset >= lowest && range.isInRange($0.timestamp) }
        return records.map { RecordEnvelope($0, topic: topic) }
    }
}
