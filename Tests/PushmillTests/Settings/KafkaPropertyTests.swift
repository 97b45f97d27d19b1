import Testing

@testable import Pushmill

@Suite("librdkafka on its own properties")
struct KafkaPropertyTests {
    @Test(
        "A property that it refuses, does not know, or that belongs to the other client is told",
        arguments: [
            (
                "boostrap.servers: a",
                "1:28: kafka.boostrap.servers: librdkafka has no such property; did you mean"
                    + " \"bootstrap.servers\"?"
            ),
            (
                "consumer: { session.timeot.ms: 1 }",
                "1:41: kafka.consumer.session.timeot.ms: librdkafka has no such"
                    + " property; did you mean \"session.timeout.ms\"?"
            ),
            (
                "consumer: { session.timeout.ms: soon }",
                "1:42: kafka.consumer.session.timeout.ms: Invalid value for"
                    + " configuration property \"session.timeout.ms\""
            ),
            (
                "producer: { linger.ms: -1 }",
                "1:33: kafka.producer.linger.ms: Configuration property \"queue.buffering.max.ms\""
                    + " value -1 is outside allowed range 0..900000"
            ),
            ("producer: { group.id: a }", "1:32: kafka.producer.group.id: is a property of consumers"),
            (
                "consumer: { compression.type: zstd }",
                "1:40: kafka.consumer.compression.type: is a property of producers"
            ),
            (
                "rebalance_cb: 1",
                "1:24: kafka.rebalance_cb: Property \"rebalance_cb\" must be set through dedicated"
                    + " .._set_..() function"
            ),
        ])
    func problems(properties: String, problem: String) {
        let reading = Reading("kafka: { \(properties) }")
        #expect(reading.problems == ["f.yaml:\(problem)"])
    }

    @Test("What it knows passes, aliases and properties of topics too")
    func passes() {
        let yaml = """
            kafka:
              bootstrap.servers: embedded
              security.protocol: sasl_ssl
              sasl.password: geheim
              compression.type: zstd
              group.id: a
              consumer: { group.instance.id: a, auto.offset.reset: latest, queued.min.messages: 10 }
              producer: { queue.buffering.max.ms: 1, compression.codec: lz4 }
            """
        #expect(Reading(yaml).problems == [])
    }

    @Test("Our own defaults are to its taste") func defaults() {
        for (section, defaults) in [
            (KafkaSettings.Section.common, KafkaDefaults.common), (.consumer, KafkaDefaults.consumer),
            (.producer, KafkaDefaults.producer),
        ] {
            for (name, value) in defaults { #expect(section.problem(name, value) == nil) }
        }
    }
}
