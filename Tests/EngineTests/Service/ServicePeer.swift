import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine

/// An embedded broker with one input record, and everything else that a shard needs.
final class ServicePeer {
    static let value = #"{"aps":{"alert":"hello"}}"#

    private let cluster: MockCluster
    private let producer: OutputProducer
    private let reader: PartitionReader
    let inbox = ShardInbox(shard: 0)
    let settings: EngineSettings
    let environment: EngineEnvironment
    private let registry = MetricRegistry()

    init(
        producer more: [(name: String, value: String)] = [], headers others: [(name: String, value: String)] = [],
        publishesExpired: Bool = true, changelog: String? = nil, value: String = ServicePeer.value,
        links: [ChainLink] = []
    ) throws {
        cluster = try MockCluster()
        for topic in ["events", "out", "dead"] + (changelog.map { [$0] } ?? []) {
            try cluster.createTopic(topic, partitions: 1)
        }
        let common = [
            ("bootstrap.servers", cluster.bootstrapServers), ("group.id", "mill"), ("linger.ms", "1"),
            // The mock cluster takes nearly as long for a rebalance.
            ("session.timeout.ms", "6000"),
        ]
        let properties = ClientProperties(common)
        var settings = EngineSettings(
            consumer: properties, producer: ClientProperties(common + more), input: ["events"], output: "out",
            deadLetters: "dead")
        settings.shard.maxInFlight = 8
        settings.changelog = changelog
        self.settings = settings
        let metrics = ServiceMetrics(
            registry: registry, stages: links.map { $0.stage.name }, outcomes: Outcome.allCases.map { "\($0.name)" },
            deadLetterReasons: DeadLetterReason.allCases.map { "\($0.name)" })
        var rules = Chain.Settings()
        rules.publishesExpired = publishesExpired
        environment = EngineEnvironment(
            chain: Chain(links, settings: rules), counts: nil, contacts: nil, metrics: metrics, log: Log())
        let signal = WakeSignal()
        producer = try OutputProducer(properties, signal: signal, log: { _, _, _ in })
        reader = try PartitionReader(settings.reader, log: { _, _, _ in })
        var headers = Headers()
        headers.add("n", "1")
        for (name, value) in others { headers.add(name, value) }
        let topic = try producer.topic("events")
        _ = Array("anna".utf8).withUnsafeBytes { key in
            Array(value.utf8).withUnsafeBytes { value in
                producer.publish(to: topic, key: key, value: value, headers: &headers, timestamp: 5, tag: 1)
            }
        }
        var isStored = false
        while !isStored {
            signal.wait(nanoseconds: 1_000_000_000)
            producer.takeReports { isStored = $0.returned == nil }
        }
    }

    /// -1 for no leader.
    func setLeader(of topic: String, broker: Int32) { cluster.setLeader(of: TopicPartition(topic, 0), broker: broker) }

    func setDown() { cluster.setDown() }

    /// The brokers refuse the next output.
    func refuseOutput() { cluster.failRequests(.produce, with: [10]) }

    func record(of topic: String, at offset: Int64 = 0) throws -> PushmillKafka.Record {
        try reader.read(from: [Position(TopicPartition(topic, 0), offset: offset)])
        for _ in 0..<60 {
            guard let record = reader.poll(milliseconds: 1_000, limit: 1).records.first else { continue }
            try reader.read(from: [])
            return try #require(record.offset == offset ? record : nil)
        }
        throw KafkaError("no broker returned the record")
    }

    /// A stored record's key, value and headers.
    func stored(
        in topic: String, at offset: Int64
    ) throws -> (key: String?, value: String?, headers: [String: String]) {
        let record = try record(of: topic, at: offset)
        defer { record.destroy() }
        var headers: [String: String] = [:]
        for index in 0..<(record.headers?.count ?? 0) {
            guard let (name, value) = record.headers?.entry(index) else { continue }
            headers[String(decoding: name, as: UTF8.self)] = value.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        let text = { (bytes: UnsafeRawBufferPointer?) in bytes.map { String(decoding: $0, as: UTF8.self) } }
        return (text(record.key), text(record.value), headers)
    }

    /// The samples of a metric.
    func samples(_ name: String) -> [Substring] {
        String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("\(name) ") }
    }

    var lines: [String] {
        var cursor = 0
        return environment.log.ring.read(from: &cursor).lines.map { "\($0.message)" }
    }
}
