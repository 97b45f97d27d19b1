import PushmillStages
import PushmillStores

/// An output in the one spelling in which the recorded and the new are held against each other: under its input's
/// coordinates, without the topic's name.
enum BaselineLine {
    static func bytes(of output: RecordEnvelope, from place: OutputPlace) -> [UInt8] {
        var output = output
        output.partition = place.partition
        output.offset = place.offset
        return bytes(of: output)
    }

    /// The coordinates are those of the input already.
    static func bytes(of output: RecordEnvelope) -> [UInt8] {
        var output = output
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

extension OutputIndex.Place {
    /// Of an input.
    init(_ input: RecordEnvelope) {
        self.init(topic: input.topic, partition: input.partition, offset: input.offset)
    }
}

extension OutputIndex.Place: CustomStringConvertible {
    package var description: String { "\(topic)/\(partition)/\(offset)" }
}

extension RecordEnvelope {
    /// What the header `pushmill-source` says.
    var source: OutputPlace? {
        guard let text = text("pushmill-source") else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let partition = Int32(parts[1]), let offset = Int64(parts[2]) else { return nil }
        return OutputPlace(topic: String(parts[0]), partition: partition, offset: offset)
    }
}
