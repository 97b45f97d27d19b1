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
        // librdkafka takes its words in capitals too. In doubt nothing is passed over.
        shard.reset =
            switch consumer["auto.offset.reset"]?.lowercased() {
            case "latest", "largest", "end": .latest
            case "error": .error
            default: .earliest
            }
        if let time = consumer["session.timeout.ms"].flatMap({ Int($0) }) { shard.sessionTimeout = .milliseconds(time) }
        makeRoom()
        configuration.keepGuarantee(&producer, transactionalID: transactionalID)
    }

    /// Reads the clients' secrets again, for another attempt to start. A file that cannot be read may be mended too.
    mutating func renewClients(_ configuration: Configuration, embedded: String?) throws(ProgramError) {
        do throws(ProgramError) {
            let now = try EngineSettings(configuration, embedded: embedded)
            (consumer, producer) = (now.consumer, now.producer)
        } catch {
            throw .outside(.starting(error.messages.joined(separator: "; ")))
        }
    }

    /// What may be in flight has room in a producer, with the counts that go beside it.
    private mutating func makeRoom() {
        let (messages, kilobytes) = (shard.maxInFlight * 2 + 10_000, shard.maxInFlightBytes / 1024 * 2)
        raise("queue.buffering.max.messages", to: messages, from: 100_000, atMost: 10_000_000)
        raise("queue.buffering.max.kbytes", to: kilobytes, from: 1 << 20, atMost: Int(Int32.max))
    }

    /// `usual` is what librdkafka has by itself.
    private mutating func raise(_ name: String, to value: Int, from usual: Int, atMost limit: Int) {
        guard value > usual else { return }
        let set = producer[name].flatMap { Int($0) }
        producer[name] = "\(max(min(value, limit), set ?? 0))"
    }

    /// One of each instance, and the same when it comes again: what it has left open ends then.
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
    /// With a counter of everything that may be counted: one that is born with 1 has not grown, for all that Prometheus knows.
    static func make(_ registry: MetricRegistry, _ links: [ChainLink], input topics: [String]) -> ServiceMetrics {
        let metrics = ServiceMetrics(
            registry: registry, stages: links.map(\.stage.name), outcomes: Outcome.allCases.map { "\($0.name)" },
            deadLetterReasons: DeadLetterReason.allCases.map { "\($0.name)" })
        for topic in topics { _ = metrics.consumed(topic: topic) }
        for (stage, link) in zip(metrics.stages, links) {
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

/// The secrets of examples, which everybody knows, are good for trying things on one machine.
enum SampleSecrets {
    /// Those of the manifests and of the composition.
    static let tokens = ["replace-me", "only-for-this-machine"]

    /// Whether a service has to have secrets of its own: where others can reach it, or its brokers are elsewhere.
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
            // A name may begin like an address.
            let place = (try? ListenAddress(host)) ?? (try? ListenAddress(host + ":9092"))
            return place?.isLoopback ?? false
        }
    }
}
