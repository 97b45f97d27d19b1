import PushmillKafka
import PushmillStages
import PushmillReplay

/// Where records come from: a file, or `topic:NAME`.
struct RecordPlace {
    static let prefix = "topic:"

    let text: String
    let configuration: Configuration
    let parallelism: Int

    var topic: String? { text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : nil }

    /// `range` says which part of a topic. A golden file need not be ordered.
    func open(_ range: (TopicRange) -> TopicRange, isOrdered: Bool) throws(ProgramError) -> any RecordSource {
        guard let topic else {
            return try replaying { () throws(ReplayError) in
                try CaptureFile(path: text, isOrdered: isOrdered, parallelism: parallelism)
            }
        }
        return try configuration.read(range(TopicRange(topic: topic)))
    }
}

extension Configuration {
    /// For a command that writes: without the name of transactions, which would end what the service has open under it.
    func plainProducer() throws(ProgramError) -> ClientProperties {
        var properties = try kafka.client(.producer)
        properties["transactional.id"] = nil
        return properties
    }

    func read(_ range: TopicRange) throws(ProgramError) -> TopicRecords {
        guard !kafka.isEmbedded else {
            throw .unreadableConfiguration(
                "the embedded broker lives in the service alone: name the brokers to read from")
        }
        let properties = try kafka.client(.consumer)
        return try replaying { () throws(ReplayError) in try TopicRecords(range, properties) }
    }
}

/// Puts what goes wrong with captures into a command's words.
func replaying<Result>(_ body: () throws(ReplayError) -> Result) throws(ProgramError) -> Result {
    do throws(ReplayError) { return try body() } catch { throw ProgramError(error) }
}
