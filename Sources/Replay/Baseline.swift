import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores

/// The outputs to compare with, in any order, found by the place of their input.
package final class Baseline {
    private var index: OutputIndex
    /// Whether its records may cover more than the input's range: outputs outside of that are not missing.
    private let isWider: Bool
    /// Records of topics that are not outputs of this service.
    package private(set) var foreign = 0

    package var count: Int64 { index.count }

    /// The topics that its inputs came from.
    package var topics: [String] { index.topics }

    /// `isWider`: the sources may cover more than the input, such as all outputs of a topic, unlike a golden capture.
    package init(_ sources: [any RecordSource], isWider: Bool) async throws(ReplayError) {
        index = try indexed { () throws(StoreError) in try OutputIndex() }
        self.isWider = isWider
        for source in sources {
            while case let records = try await source.next(4096), !records.isEmpty {
                for (number, record) in records.enumerated() {
                    if let place = record.source {
                        let line = BaselineLine.bytes(of: record, from: place)
                        let isSame = try indexed { () throws(StoreError) in try index.put(line, at: place) }
                        // A topic may have an output again, after a crash. Of a golden it is not known which counts.
                        guard isSame || isWider else {
                            throw source.failure(
                                at: number, "\(record.place) is another output for \(place) than before")
                        }
                    } else if source is TopicRecords {
                        foreign += 1
                    } else {
                        throw source.failure(
                            at: number, "\(record.place) has no header pushmill-source: it is not an output")
                    }
                }
            }
        }
    }

    /// The output that was recorded for this input, in the form of `BaselineLine`.
    func take(_ input: RecordEnvelope) throws(ReplayError) -> [UInt8]? {
        try indexed { () throws(StoreError) in try index.take(OutputPlace(input)) }
    }

    /// The outputs whose inputs did not come from `source`. `ranges` are the offsets that the input spanned in each
    /// partition.
    func forEachLeft(
        within ranges: InputRanges, of source: any RecordSource, _ body: (RecordEnvelope) throws(ReplayError) -> Void
    ) throws(ReplayError) {
        var left = try indexed { () throws(StoreError) in try index.left() }
        while let next = try indexed({ () throws(StoreError) in try left.next() }) {
            if isWider, !ranges.contains(next.place) { continue }
            let output = try BaselineLine.read(next.bytes, from: next.place)
            // An output has its input's time.
            if isWider, !source.isInRange(output.timestamp) { continue }
            try body(output)
        }
    }
}

/// The offsets that the input has spanned so far.
struct InputRanges {
    private var ranges: [TopicPartition: ClosedRange<Int64>] = [:]

    mutating func add(_ record: RecordEnvelope) {
        let partition = TopicPartition(record.topic, record.partition)
        let known = ranges[partition] ?? record.offset...record.offset
        ranges[partition] = min(known.lowerBound, record.offset)...max(known.upperBound, record.offset)
    }

    func contains(_ place: OutputPlace) -> Bool {
        ranges[TopicPartition(place.topic, place.partition)]?.contains(place.offset) ?? false
    }
}

/// An output in the one form in which recorded and new outputs are compared: with its input's coordinates, without the
/// topic's name.
enum BaselineLine {
    /// Without a place the output already has its input's coordinates.
    static func bytes(of output: RecordEnvelope, from place: OutputPlace? = nil) -> [UInt8] {
        var output = output
        if let place { (output.partition, output.offset) = (place.partition, place.offset) }
        output.topic = ""
        var line: [UInt8] = []
        output.append(to: &line)
        return line
    }

    static func read(_ line: [UInt8], from place: OutputPlace) throws(ReplayError) -> RecordEnvelope {
        do throws(EnvelopeError) {
            var record = try RecordEnvelope(line: line)
            record.topic = place.topic
            return record
        } catch {
            throw .unreadable(name: "the baseline's record of \(place)", what: "\(error)")
        }
    }
}

typealias OutputPlace = OutputIndex.Place

extension OutputIndex.Place: CustomStringConvertible {
    /// The place of an input.
    init(_ input: RecordEnvelope) {
        self.init(topic: input.topic, partition: input.partition, offset: input.offset)
    }

    package var description: String { "\(topic)/\(partition)/\(offset)" }

    /// Reads what `description` writes.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let partition = Int32(parts[1]), let offset = Int64(parts[2]) else { return nil }
        self.init(topic: String(parts[0]), partition: partition, offset: offset)
    }
}

extension RecordEnvelope {
    /// The place in the header `pushmill-source`; nil if it is missing or malformed.
    var source: OutputPlace? { text("pushmill-source").flatMap { OutputPlace($0) } }
}
