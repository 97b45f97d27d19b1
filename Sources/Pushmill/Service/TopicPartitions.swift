import PushmillKafka
import PushmillTelemetry

/// Milliseconds to wait for a topic's setting. Not every broker tells it, and not to every client.
private let settingPatience: Int32 = 2000

struct TopicPartitions {
    let name: String
    let count: Int

    /// Throws if `input` has another number of partitions. `why` and `remedy` are parts of the sentence.
    func compare(with input: TopicPartitions, why: String, remedy: String) throws(ProgramError) {
        guard count != input.count else { return }
        throw .outside(
            ProbeReason(
                "topic-mismatch",
                """
                the topic \(name) has \(count) partitions and \(input.name) has \(input.count), but they need the \
                same number: \(why) in the partition with the number of its events' partition; \(remedy)
                """))
    }
}

/// The changelog of badge counts. It must exist with as many partitions as the input before a service starts.
struct ChangelogTopic {
    /// The settings to create it with. Our own timestamps distinguish it from a later topic of the same name.
    static let settings: [(name: String, value: String)] = [
        ("cleanup.policy", "compact"), ("message.timestamp.type", "CreateTime"), ("delete.retention.ms", "86400000"),
        // Compaction skips the active segment.
        ("segment.bytes", "104857600"),
        // Otherwise, compaction could keep only what an owner wrote after it had lost its partition.
        ("min.compaction.lag.ms", "3600000"),
    ]
    private static let patience: Int32 = 10_000

    private let name: String
    private let input: TopicPartitions
    /// Asks for a topic without creating it.
    private let reader: PartitionReader

    init(_ name: String, beside input: TopicPartitions, _ consumer: ClientProperties) throws(ProgramError) {
        self.name = name
        self.input = input
        do throws(KafkaError) {
            reader = try PartitionReader(consumer, log: { _, _, _ in })
        } catch {
            throw Startup.refusal(error, of: "consumer", consumer)
        }
    }

    /// Creates the topic if it is missing.
    func prepare(_ client: ClusterClient, _ log: Log) throws(ProgramError) {
        var found = try find()
        if found == nil {
            try create(input.count, client)
            log.info("created the badge changelog", [.topic(name), .count(input.count)])
            found = try find()
        }
        // Other brokers may not know it yet: the start is retried.
        guard let found else {
            throw .outside(.starting("the topic \(name) was created, but the brokers do not know it yet"))
        }
        let another = "create another and name it under topics.badge-changelog, where counts begin at 0"
        try found.compare(
            with: input, why: "a recipient's counts are",
            remedy: found.count < input.count ? "add partitions to it, which keeps the counts" : another)
        try Self.checkCompaction(of: name, client)
    }

    /// Nil if the topic does not exist.
    private func find() throws(ProgramError) -> TopicPartitions? {
        do throws(KafkaError) {
            return TopicPartitions(name: name, count: try reader.partitionCount(of: name, milliseconds: Self.patience))
        } catch {
            if error.isUnknownTopic { return nil }
            throw .outside(.topic(name, error))
        }
    }

    static func checkCompaction(of name: String, _ client: ClusterClient) throws(ProgramError) {
        let policies = client.setting("cleanup.policy", ofTopics: [name], milliseconds: settingPatience)
        // Not every broker tells the policy, and not to every client.
        guard let policy = policies[name], policy != "compact" else { return }
        throw .outside(
            ProbeReason(
                "topic-mismatch",
                "the topic \(name) has cleanup.policy=\(policy), which would lose counts: set it to compact, "
                    + "or correct topics.badge-changelog"))
    }

    private func create(_ partitions: Int, _ client: ClusterClient) throws(ProgramError) {
        do throws(KafkaError) {
            try client.createTopic(
                name, partitions: partitions, settings: Self.settings, milliseconds: Self.patience)
        } catch {
            if error.isTimeOut { throw .outside(.starting("cannot create the topic \(name) yet: \(error)")) }
            throw .outside(
                ProbeReason(
                    "unknown-topic",
                    """
                    the brokers do not know the topic \(name) and refuse to create it (\(error)): create it with \
                    \(partitions) partitions and cleanup.policy=compact, or correct topics.badge-changelog
                    """))
        }
    }
}

/// The topic of which the embedded store's contacts are a copy.
package struct ContactTopic: Sendable, Equatable {
    let name: String
    /// Its partitions are assigned and revoked with those of the input.
    let isCoPartitioned: Bool

    /// Throws what prevents a service from starting.
    func check(_ found: TopicPartitions, beside inputs: [TopicPartitions]) throws(ProgramError) {
        guard isCoPartitioned else { return }
        for input in inputs {
            try found.compare(
                with: input, why: "a recipient's contacts are",
                remedy: "create another, or remove stages.contact.co-partitioned")
        }
    }

    /// Warns if brokers delete records whose contacts an instance keeps that has read them.
    func checkCompaction(_ client: ClusterClient, _ log: Log) {
        let policies = client.setting("cleanup.policy", ofTopics: [name], milliseconds: settingPatience)
        guard let policy = policies[name], policy != "compact" else { return }
        log.warning(
            "the contacts topic is not only compacted: instances may differ in names",
            [.topic(name), .setting("cleanup.policy"), .reason(policy)])
    }
}
