import Kafka
import Telemetry
import Worker

/// What has to be right outside before a service starts: better said now than found in a log later.
enum Startup {
    private static let attempts = 6
    private static let patience: Int32 = 5000

    /// Gives the identity of the cluster.
    static func check(
        _ settings: WorkerSettings, contacts: String?, changelog: String?, _ log: Log
    ) throws(ProgramError) -> String {
        let client: Producer
        do throws(KafkaError) {
            client = try Producer(settings.producer, log: { _, _, _ in })
        } catch {
            throw .unreadableConfiguration("librdkafka refuses the configuration of the producer: \(error.message)")
        }
        try reach(client, settings.producer["bootstrap.servers"] ?? "", log)
        for name in settings.input + [settings.output, settings.deadLetters] {
            try find(name, client, setting: "topics")
        }
        if let contacts { try find(contacts, client, setting: "stages.contact.source") }
        if let changelog, let input = settings.input.first {
            try ChangelogTopic(changelog, beside: input, settings.consumer).prepare(client, log)
        }
        return client.clusterID(milliseconds: patience) ?? ""
    }

    private static func reach(_ client: Producer, _ servers: String, _ log: Log) throws(ProgramError) {
        for attempt in 1...attempts {
            guard let error = client.reach(milliseconds: patience) else { return }
            log.warning("no broker answers yet", [.broker(servers), .attempt(attempt), .error(error)])
            guard !Signals.isEndWanted else { throw .interrupted }
        }
        throw .internalFailure(
            "no broker answers at \(servers): are they up, and is kafka.bootstrap.servers right?")
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
