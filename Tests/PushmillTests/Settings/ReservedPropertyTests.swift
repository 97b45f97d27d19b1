import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Reserved properties of librdkafka")
struct ReservedPropertyTests {
    static let refused = [
        ("producer", "enable.idempotence", "false"), ("consumer", "enable.auto.commit", "true"),
        ("consumer", "auto.commit.interval.ms", "1000"), ("consumer", "enable.auto.offset.store", "true"),
        ("consumer", "offset.store.method", "file"), ("consumer", "partition.assignment.strategy", "range"),
        ("consumer", "isolation.level", "read_uncommitted"), ("producer", "retries", "3"), ("producer", "acks", "1"),
        ("producer", "partitioner", "random"), ("producer", "queuing.strategy", "lifo"),
        ("producer", "delivery.report.only.error", "true"), ("consumer", "enable.partition.eof", "true"),
        ("producer", "test.mock.num.brokers", "3"), ("producer", "enable.sasl.oauthbearer.unsecure.jwt", "true"),
    ]

    @Test("Reserved properties are refused with the reason, wherever they are set", arguments: refused)
    func refusedWithReason(section: String, name: String, value: String) {
        let inSection = Reading("kafka:\n  \(section):\n    \(name): \(value)\n").problems
        expect(inSection.count, is: 1)
        let column = 5 + name.count + 2
        expect(inSection.first?.hasPrefix("f.yaml:3:\(column): kafka.\(section).\(name): is reserved: "), is: true)
        expect(Reading("kafka:\n  \(name): \(value)\n").problems.count, is: 1)
        let variable = "PUSHMILL_KAFKA_\(name.uppercased().map { $0 == "." ? "_" : String($0) }.joined())"
        let byVariable = Reading("", environment: [variable: value]).problems
        expect(byVariable.first?.hasPrefix("\(variable): kafka.\(name): is reserved: "), is: true)
    }

    @Test(
        "A reserved property may be set to the value that the service uses",
        arguments: [
            ("enable.idempotence", "true"), ("enable.auto.commit", "false"), ("isolation.level", "read_committed"),
            ("partition.assignment.strategy", "cooperative-sticky"), ("acks", "all"), ("message.timeout.ms", "0"),
        ])
    func agreeing(name: String, value: String) {
        expect(Reading("kafka: { \(name): \(value) }").problems, is: [])
    }

    @Test(
        "Message timeouts and the transactional ID are accepted only for exactly-once",
        arguments: [
            ("message.timeout.ms", "5000"), ("delivery.timeout.ms", "5000"), ("transactional.id", "a"),
        ])
    func exactlyOnce(name: String, value: String) {
        let yaml = "kafka: { producer: { \(name): \(value) } }\n"
        expect(Reading(yaml).problems.count, is: 1)
        expect(Reading(yaml + "delivery: { guarantee: exactly-once }").problems, is: [])
    }

    @Test("librdkafka checks only properties that are set, not defaults") func asked() {
        let reading = Reading(
            "kafka: { a.b: 1, consumer: { linger.ms: 2 }, producer: { group.id: 3 } }")
        expect(
            reading.problems,
            is: [
                "f.yaml:1:15: kafka.a.b: librdkafka has no such property",
                "f.yaml:1:41: kafka.consumer.linger.ms: is a property of producers",
                "f.yaml:1:68: kafka.producer.group.id: is a property of consumers",
            ])
    }
}
