import FoundationEssentials
import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry

extension EngineSettings {
    /// `embedded` is the address of the broker in this process.
    init(_ configuration: Configuration, embedded: String? = nil) throws(ProgramError) {
        self.init(
            consumer: try configuration.kafka.client(.consumer),
            producer: try configuration.kafka.client(.producer),
            input: configuration.topics.input, output: configuration.topics.output,
            deadLetters: configuration.topics.deadLetter)
        if let embedded { (consumer["bootstrap.servers"], producer["bootstrap.servers"]) = (embedded, embedded) }
        let delivery = configuration.delivery
        cores = delivery.cores ?? Processors.usable
        shard = delivery.shard
        // librdkafka accepts these words in capitals too. In doubt, no record is skipped.
        shard.reset =
            switch consumer["auto.offset.reset"]?.lowercased() {
            case "latest", "largest", "end": .latest
            case "error": .error
            default: .earliest
            }
        if let time = consumer["session.timeout.ms"].flatMap({ Int($0) }) { shard.sessionTimeout = .milliseconds(time) }
        shard.reportPatience = .milliseconds(configuration.kafka.transactionTimeout * 2 + 5_000)
        makeRoom()
        configuration.keepGuarantee(&producer, transactionalID: transactionalID)
    }

    /// Reads the clients' secrets again, for another attempt to start. A file that cannot be read may be fixed too.
    mutating func renewClients(_ configuration: Configuration, embedded: String?) throws(ProgramError) {
        do throws(ProgramError) {
            let now = try EngineSettings(configuration, embedded: embedded)
            (consumer, producer) = (now.consumer, now.producer)
        } catch {
            throw .outside(.starting(error.messages.joined(separator: "; ")))
        }
    }

    /// Gives a producer room for all messages that may be in flight, and for the counts that go with them.
    private mutating func makeRoom() {
        let (messages, kilobytes) = (shard.maxInFlight * 2 + 10_000, shard.maxInFlightBytes / 1024 * 2)
        raise("queue.buffering.max.messages", to: messages, from: 100_000, atMost: 10_000_000)
        raise("queue.buffering.max.kbytes", to: kilobytes, from: 1 << 20, atMost: Int(Int32.max))
    }

    /// `usual` is librdkafka's default.
    private mutating func raise(_ name: String, to value: Int, from usual: Int, atMost limit: Int) {
        guard value > usual else { return }
        let set = producer[name].flatMap { Int($0) }
        producer[name] = "\(max(min(value, limit), set ?? 0))"
    }

    /// Unique per instance, and the same after a restart, which ends the transaction that the instance has left open.
    private var transactionalID: String {
        "\(consumer["group.id"] ?? "")-\(consumer["group.instance.id"] ?? ProcessInfo.processInfo.hostName)"
    }
}

extension Chain.Settings {
    init(_ delivery: DeliverySettings) {
        self.init()
        deadline = delivery.deadline
        publishesExpired = delivery.expired == .publish
    }
}

extension ServiceMetrics {
    /// Creates all counters at 0: if a counter first appears with 1, Prometheus sees no increase.
    static func make(_ registry: MetricRegistry, _ links: [ChainLink], input topics: [String]) -> ServiceMetrics {
        let metrics = ServiceMetrics(
            registry: registry, stages: links.map(\.stage.name), outcomes: Outcome.allCases.map { "\($0.name)" },
            deadLetterReasons: DeadLetterReason.allCases.map { "\($0.name)" })
        for topic in topics { _ = metrics.consumed(topic: topic) }
        for (stage, link) in zip(metrics.messages.stages, links) {
            for result in [.ok, .skipped, .expired, .failed("error")] + link.stage.results {
                if case .failed(let reason) = result {
                    _ = stage.results("failed", reason: "\(reason)")
                } else {
                    _ = stage.results(result.description)
                }
            }
        }
        return metrics
    }
}

/// The secrets of published examples, which are only for trying things on one machine.
enum SampleSecrets {
    /// The tokens of the manifests and of the composition.
    static let tokens = ["replace-me", "only-for-this-machine"]

    /// Whether a service needs its own secrets: if others can reach it, or if its brokers are on another machine.
    static func areRefused(_ configuration: Configuration) -> Bool {
        guard !configuration.process.allowsSamples else { return false }
        let kafka = configuration.kafka
        let areLocal = [KafkaSettings.Section.consumer, .producer].allSatisfy { section in
            isLocal(kafka.properties(for: section)["bootstrap.servers"] ?? "")
        }
        return !configuration.admin.listen.isLoopback || !kafka.isEmbedded && !areLocal
    }

    private static func isLocal(_ servers: String) -> Bool {
        servers.split(separator: ",").allSatisfy { server in
            let parts = server.filter { $0 != " " }.split(separator: "/")
            guard let host = parts.last?.lowercased() else { return false }
            // Parsed as a whole, because a host name may begin like an address.
            let place = (try? ListenAddress(host)) ?? (try? ListenAddress(host + ":9092"))
            return place?.isLoopback ?? false
        }
    }
}
