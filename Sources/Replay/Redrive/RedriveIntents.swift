import Glibc
import PushmillKafka
import PushmillPayload
import PushmillStores

/// The letters that are about to be sent, and where the input's logs ended before: a file beside the journal, on the
/// disk before the first letter is sent and removed once the journal has them. A run that ends in between leaves it, and
/// the next one looks in those logs for the letters that were sent.
///
/// The first line is `#redrive-intents 1`. A log's line is `topic/partition/offset`; a letter's has two words more: its
/// timestamp, as in the journal, and a hash of what is sent. The last line is a dot: without it, nothing was sent.
struct RedriveIntents {
    private static let heading = "#redrive-intents "

    var ends: [Position] = []
    /// The journal's line of each, and its `sentContent`.
    var letters: [(line: String, content: String)] = []

    /// Nil if there is no file, or not all of it.
    init?(path: String) throws(ReplayError) {
        guard access(path, F_OK) == 0 else { return nil }
        let bytes = try filed { () throws(FileFailure) in try FileBytes(path: path, limit: .max).bytes }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first, first.hasPrefix(Self.heading), lines.last == "." else { return nil }
        guard first == "\(Self.heading)1" else {
            throw .unreadable(name: path, line: 1, what: "written by a newer release: this one reads version 1")
        }
        for (index, line) in lines.enumerated().dropFirst().dropLast() {
            let words = line.split(separator: " ")
            guard [1, 3].contains(words.count), let place = OutputPlace(words[0]) else {
                throw .unreadable(name: path, line: index + 1, what: "neither a log's end nor a letter")
            }
            if words.count == 3 {
                letters.append(("\(words[0]) \(words[1])", String(words[2])))
            } else {
                ends.append(Position(TopicPartition(place.topic, place.partition), offset: place.offset))
            }
        }
    }

    init(_ letters: [DeadLetter], ends: [Position]) {
        self.ends = ends
        self.letters = letters.map { (RedriveJournal.line($0.record), $0.restored.sentContent) }
    }

    /// When it returns, the file is on the disk.
    func write(to path: String) throws(ReplayError) {
        let logs = ends.map { "\($0.partition)/\($0.offset)" }
        let lines = ["\(Self.heading)1"] + logs + letters.map { "\($0.line) \($0.content)" } + ["."]
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        let text = Array((lines.joined(separator: "\n") + "\n").utf8)
        guard descriptor >= 0, text.withUnsafeBytes({ writeAll($0, to: descriptor) }), fdatasync(descriptor) == 0
        else {
            let reason = String(cString: strerror(errno))
            throw .unwritten(FileFailure(path: path, what: "\(reason): no letter is sent"))
        }
    }

    /// The journal's lines of the letters that were sent. `stored` has what redrives have stored in the logs since, and
    /// how often. Letters with the same content stand for each other, except that the journal already has some.
    func sent(_ stored: [String: Int], isKnown: (String) -> Bool) -> [String] {
        var left = stored
        var sent: [String] = []
        for (line, content) in letters.filter({ isKnown($0.line) }) + letters.filter({ !isKnown($0.line) }) {
            guard let count = left[content], count > 0 else { continue }
            left[content] = count - 1
            sent.append(line)
        }
        return sent
    }
}

/// The logs that letters go back to. Reads also what is not committed: an open transaction must not hide a letter.
final class InputLogs {
    private let reader: PartitionReader
    private var known: [TopicPartition: Int64] = [:]

    /// `properties` are a consumer's.
    init(_ properties: ClientProperties) throws(ReplayError) {
        var properties = properties
        properties["auto.offset.reset"] = "error"
        reader = try asked("reading the input") { () throws(KafkaError) in
            try PartitionReader(properties, isCommittedOnly: false, tellsEnds: true, log: { _, _, _ in })
        }
    }

    /// Where the logs of the topics end now. That of a partition without a leader is an earlier answer, or its
    /// beginning; a topic that is unknown has none.
    func ends(of topics: Set<String>) -> [Position] {
        var partitions: Set<TopicPartition> = []
        for topic in topics {
            let count = (try? reader.partitionCount(of: topic, milliseconds: TopicPlaces.patience)) ?? 0
            partitions.formUnion((0..<Int32(clamping: count)).map { TopicPartition(topic, $0) })
        }
        for (partition, range) in reader.ranges(of: partitions) { known[partition] = range.upperBound }
        return partitions.map { Position($0, offset: known[$0] ?? 0) }
    }

    /// What redrives have stored at these positions and later, and how often. Nil if `isEnding`.
    func stored(since positions: [Position], isEnding: () -> Bool) throws(ReplayError) -> [String: Int]? {
        var stored: [String: Int] = [:]
        for position in positions {
            let (topic, number) = (position.partition.topic, position.partition.partition)
            let log = try asked("requesting the offsets of \(position.partition)") {
                () throws(KafkaError) -> Range<Int64> in
                let count = try reader.partitionCount(of: topic, milliseconds: TopicPlaces.patience)
                // A topic that was made anew may have fewer.
                guard number < count else { return 0..<0 }
                return try reader.range(of: position.partition, milliseconds: TopicPlaces.patience)
            }
            let first = min(max(position.offset, log.lowerBound), log.upperBound)
            var reading = try PartitionReading(reader, position.partition, first..<log.upperBound)
            while try reading.next(
                isEnding: isEnding,
                { record in
                    let record = RecordEnvelope(record, topic: topic)
                    if record.header("pushmill-attempt") != nil { stored[record.sentContent, default: 0] += 1 }
                })
            {
                if isEnding() { return nil }
            }
        }
        return stored
    }
}

extension RecordEnvelope {
    /// A hash of its key, headers and payload. Not of its timestamp: brokers may set their own.
    fileprivate var sentContent: String {
        var content = RecordEnvelope()
        (content.key, content.headers, content.payload) = (key, headers, payload)
        var line: [UInt8] = []
        content.append(to: &line)
        return String(line.withUnsafeBytes(ByteHash.hash), radix: 16)
    }
}
