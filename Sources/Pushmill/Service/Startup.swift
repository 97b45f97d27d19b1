import Glibc
import Kafka
import Telemetry
import Worker

/// What has to be right outside before a service starts: better said now than found in a log later.
enum Startup {
    private static let attempts = 30
    /// Milliseconds for each of them: between two it can be ended.
    private static let reachPatience: Int32 = 1000
    private static let patience: Int32 = 5000
    private static let limitPatience: Int32 = 2000

    /// Connections and files of media are as many as the process may have open. What counts descriptors by the old limit,
    /// as `select` does, is not in this process.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Gives the identity of the cluster.
    static func check(
        _ settings: WorkerSettings, contacts: ContactTopic?, changelog: String?, _ log: Log
    ) throws(ProgramError) -> String {
        let client: Producer
        do throws(KafkaError) {
            client = try Producer(settings.producer, log: { _, _, _ in })
        } catch {
            throw .unreadableConfiguration("librdkafka refuses the configuration of the producer: \(error.message)")
        }
        try reach(client, settings.producer["bootstrap.servers"] ?? "", log)
        for name in settings.input + [settings.output, settings.deadLetters] {
            try goOn()
            try find(name, client, setting: "topics")
        }
        try goOn()
        if let contacts {
            try find(contacts.name, client, setting: "stages.contact.source")
            try contacts.check(beside: settings.input, settings.consumer)
        }
        if let changelog, let input = settings.input.first {
            try goOn()
            try ChangelogTopic(changelog, beside: input, settings.consumer).prepare(client, log)
            try goOn()
        }
        guard let cluster = client.clusterID(milliseconds: patience) else {
            throw .internalFailure("the brokers do not say which cluster they are")
        }
        return cluster
    }

    /// A batch that is refused for its size fails a whole transaction: no batch is larger than the topics take, as far as
    /// brokers tell.
    static func limitBatches(_ settings: inout WorkerSettings, changelog: String?) throws(ProgramError) {
        try goOn()
        guard settings.isTransactional, let client = try? Producer(settings.producer, log: { _, _, _ in }) else {
            return
        }
        let limits = client.setting(
            "max.message.bytes", ofTopics: [settings.output, settings.deadLetters] + [changelog].compactMap(\.self),
            milliseconds: limitPatience)
        guard let limit = limits.values.compactMap({ Int($0) }).min() else { return }
        let configured = settings.producer["batch.size"].flatMap { Int($0) } ?? 1_000_000
        settings.producer["batch.size"] = "\(min(limit, configured))"
    }

    private static func reach(_ client: Producer, _ servers: String, _ log: Log) throws(ProgramError) {
        for attempt in 1...attempts {
            guard let error = client.reach(milliseconds: reachPatience) else { return }
            log.warning("no broker answers yet", [.broker(servers), .attempt(attempt), .error(error)])
            try goOn()
        }
        throw .internalFailure(
            "no broker answers at \(servers): are they up, and is kafka.bootstrap.servers right?")
    }

    /// Not where it is to end already.
    private static func goOn() throws(ProgramError) {
        guard !Signals.isEndWanted else { throw .interrupted }
    }

    private static func find(_ name: String, _ client: Producer, setting: String) throws(ProgramError) {
        do throws(KafkaError) {
            _ = try client.partitionCount(of: name, milliseconds: patience)
        } catch {
            guard error.isUnknownTopic else {
                throw .internalFailure("nothing can be learned of the topic \(name): \(error)")
            }
            throw .unreadableConfiguration(
                "the brokers know no topic \(name): create it, or correct it under \(setting)")
        }
    }
}
