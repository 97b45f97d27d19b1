import Glibc
import PushmillKafka
import PushmillTelemetry

/// The changelog of badge counts, which has to be there with as many partitions as the input before a service starts.
struct ChangelogTopic {
    /// What it is created with. Our own timestamps tell it from one of its name that is made later.
    static let settings: [(name: String, value: String)] = [
        ("cleanup.policy", "compact"), ("message.timestamp.type", "CreateTime"), ("delete.retention.ms", "86400000"),
        // Compaction passes over the segment that is being written.
        ("segment.bytes", "104857600"),
        // What an owner that had lost its partition wrote may not be all that compaction leaves of an account.
        ("min.compaction.lag.ms", "3600000"),
    ]
    private static let patience: Int32 = 10_000
    private static let settingPatience: Int32 = 2000
    private static let attempts = 10
    /// Microseconds.
    private static let pause: UInt32 = 200_000

    let name: String
    let input: String
    private let topics: TopicPartitions

    init(_ name: String, beside input: String, _ consumer: ClientProperties) throws(ProgramError) {
        self.name = name
        self.input = input
        topics = try TopicPartitions(consumer)
    }

    /// Creates it where it is missing.
    func prepare(_ client: Producer, _ log: Log) throws(ProgramError) {
        let wanted = try topics.count(of: input, named: "topics")
        if try topics.count(of: name) == nil {
            try create(wanted, client)
            log.info("the changelog of badge counts is created", [.topic(name), .count(wanted)])
        }
        // Other brokers may not know it at once.
        for _ in 0..<Self.attempts {
            guard let found = try topics.count(of: name) else {
                usleep(Self.pause)
                continue
            }
            try TopicPartitions.compare(
                (name, found), with: (input, wanted), why: "a recipient's counts live",
                remedy: "create another and name it under topics.badge-changelog")
            return try checkCompaction(client)
        }
        throw .outside(.starting("the topic \(name) was created, and the brokers do not know it"))
    }

    private func checkCompaction(_ client: Producer) throws(ProgramError) {
        let policies = client.setting("cleanup.policy", ofTopics: [name], milliseconds: Self.settingPatience)
        // Not every broker tells it, nor everyone.
        guard let policy = policies[name], policy != "compact" else { return }
        throw .outside(
            ProbeReason(
                "topic-mismatch",
                "the topic \(name) has cleanup.policy=\(policy), which would lose counts: it has to be compact"))
    }

    private func create(_ partitions: Int, _ client: Producer) throws(ProgramError) {
        do throws(KafkaError) {
            try client.createTopic(
                name, partitions: partitions, settings: Self.settings, milliseconds: Self.patience)
        } catch {
            if error.isTimeOut { throw .outside(.starting("the topic \(name) cannot be created yet: \(error)")) }
            throw .outside(
                ProbeReason(
                    "unknown-topic",
                    """
                    the brokers know no topic \(name), and do not let it be created (\(error)): create it with \
                    \(partitions) partitions and cleanup.policy=compact, or correct it under topics.badge-changelog
                    """))
        }
    }
}
