import Engine
import Glibc
import Kafka
import Telemetry

/// What has to be right outside before a service starts: better said now than found in a log later.
enum Startup {
    /// Milliseconds for a broker's answer: between two attempts it can be ended.
    private static let reachPatience: Int32 = 1000
    /// Microseconds.
    private static let pause: UInt32 = 500_000
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

    /// Gives the identity of the cluster. Waits for brokers that are away; `wait` is told why.
    static func check(
        _ settings: EngineSettings, contacts: ContactTopic?, _ log: Log, wait: (String) -> Void
    ) throws(ProgramError) -> String {
        while true {
            do throws(ProgramError) {
                return try checkOnce(settings, contacts: contacts, log, wait: wait)
            } catch .internalFailure(let problem) {
                log.warning("the service cannot start yet, trying again", [.error(text: problem)])
                wait(problem)
                usleep(pause)
                try goOn()
            }
        }
    }

    private static func checkOnce(
        _ settings: EngineSettings, contacts: ContactTopic?, _ log: Log, wait: (String) -> Void
    ) throws(ProgramError) -> String {
        let client: Producer
        do throws(KafkaError) {
            client = try Producer(settings.producer, log: { _, _, _ in })
        } catch {
            throw .unreadableConfiguration("librdkafka refuses the configuration of the producer: \(error.message)")
        }
        try reach(client, settings.producer["bootstrap.servers"] ?? "", log, wait: wait)
        for name in settings.input + [settings.output, settings.deadLetters] {
            try goOn()
            try find(name, client, setting: "topics")
        }
        try goOn()
        if let contacts {
            try find(contacts.name, client, setting: "stages.contact.source")
            try contacts.check(beside: settings.input, settings.consumer)
        }
        if let changelog = settings.changelog, let input = settings.input.first {
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
    static func limitBatches(_ settings: inout EngineSettings) throws(ProgramError) {
        try goOn()
        guard settings.shard.isTransactional, let client = try? Producer(settings.producer, log: { _, _, _ in }) else {
            return
        }
        let limits = client.setting(
            "max.message.bytes",
            ofTopics: [settings.output, settings.deadLetters] + [settings.changelog].compactMap(\.self),
            milliseconds: limitPatience)
        guard let limit = limits.values.compactMap({ Int($0) }).min() else { return }
        let configured = settings.producer["batch.size"].flatMap { Int($0) } ?? 1_000_000
        settings.producer["batch.size"] = "\(min(limit, configured))"
    }

    private static func reach(
        _ client: Producer, _ servers: String, _ log: Log, wait: (String) -> Void
    ) throws(ProgramError) {
        var attempt = 1
        while let error = client.reach(milliseconds: reachPatience) {
            log.warning("no broker answers yet", [.broker(servers), .attempt(attempt), .error(error)])
            wait("no broker answers at \(servers): are they up, and is kafka.bootstrap.servers right?")
            try goOn()
            attempt += 1
        }
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
