import Glibc
import Kafka
import Push
import Telemetry
import Worker

extension WorkerSettings {
    init(_ configuration: Configuration) {
        self.init(
            consumer: ClientProperties(configuration.kafka.properties(for: .consumer)),
            producer: ClientProperties(configuration.kafka.properties(for: .producer)),
            input: configuration.topics.input, output: configuration.topics.output,
            deadLetters: configuration.topics.deadLetter)
        let delivery = configuration.delivery
        ordering = delivery.ordering
        maxInFlight = delivery.maximalInFlight
        maxInFlightBytes = delivery.maximalInFlightBytes
        checkpointInterval = delivery.checkpointInterval
        drain = delivery.drain
        shutdownGrace = delivery.shutdownGrace
        lanes = delivery.lanes ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        switch delivery.guarantee {
        case .atLeastOnce:
            // A time-out would give up records that only wait for an outage to end.
            producer["message.timeout.ms"] = "0"
        case .exactlyOnce:
            producer["transactional.id"] = producer["transactional.id"] ?? transactionalID
            producer["transaction.timeout.ms"] = "\(configuration.kafka.transactionTimeout)"
        }
    }
}

extension WorkerSettings {
    /// One of each instance, and the same when it comes again: what it has left open ends then.
    private var transactionalID: String {
        "\(consumer["group.id"] ?? "")-\(consumer["group.instance.id"] ?? Self.hostName)"
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension ClientProperties {
    init(_ properties: [SettingProperty]) { self.init(properties.map { ($0.name, $0.value) }) }
}

extension Chain.Settings {
    init(_ delivery: DeliverySettings) {
        self.init()
        deadline = delivery.deadline
        publishesExpired = delivery.expired == .publish
    }
}

extension ServiceMetrics {
    static func make(_ registry: MetricRegistry, _ links: [ChainLink]) -> ServiceMetrics {
        ServiceMetrics(
            registry: registry, stages: links.map(\.stage.name), outcomes: Outcome.allCases.map { "\($0.name)" },
            deadLetterReasons: DeadLetterReason.allCases.map { "\($0.name)" })
    }
}
