import PushmillKafka
import PushmillTelemetry

/// How many partitions topics have, asked without creating what is asked for.
struct TopicPartitions {
    private static let patience: Int32 = 10_000

    private let reader: PartitionReader

    init(_ consumer: ClientProperties) throws(ProgramError) {
        do throws(KafkaError) {
            reader = try PartitionReader(consumer, log: { _, _, _ in })
        } catch {
            throw .unreadableConfiguration("librdkafka refuses the configuration of the consumer: \(error.message)")
        }
    }

    /// nil for a topic that is not there.
    func count(of topic: String) throws(ProgramError) -> Int? {
        do throws(KafkaError) {
            return try reader.partitionCount(of: topic, milliseconds: Self.patience)
        } catch {
            if error.isUnknownTopic { return nil }
            throw .outside(.topic(topic, error))
        }
    }

    /// Of a topic that has to be there, and is named by that setting.
    func count(of topic: String, named setting: String) throws(ProgramError) -> Int {
        guard let count = try count(of: topic) else {
            throw .outside(.unknownTopic(topic, setting: setting))
        }
        return count
    }

    /// Refuses two topics that do not have as many. `why` and `remedy` are parts of the sentence.
    static func compare(
        _ topic: (name: String, count: Int), with input: (name: String, count: Int), why: String, remedy: String
    ) throws(ProgramError) {
        guard topic.count != input.count else { return }
        throw .outside(
            ProbeReason(
                "topic-mismatch",
                """
                the topic \(topic.name) has \(topic.count) partitions and \(input.name) has \(input.count): \(why) at the \
                number of its events' partition, so both need as many; \(remedy)
                """))
    }
}
