import PushmillEngine
import PushmillKafka
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Properties of librdkafka")
struct KafkaPropertyTests {
    @Test(
        "A property that is refused, unknown or the other client's is reported",
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
            (
                "log_level: 9",
                "1:21: kafka.log_level: Configuration property \"log_level\" value 9 is outside allowed range 0..7"
            ),
            ("producer: { group.id: a }", "1:32: kafka.producer.group.id: is a property of consumers"),
            (
                "socket.timeout.ms: 60s",
                "1:29: kafka.socket.timeout.ms: is read as 60: write a plain number, in the property's own unit"
            ),
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
        expect(reading.problems, is: ["f.yaml:\(problem)"])
    }

    @Test(
        "Properties that conflict, with one another or with the service's own, are reported",
        arguments: [
            ("producer: { max.in.flight: 10 }", "producer", "max.in.flight"),
            ("consumer: { session.timeout.ms: 600000 }", "consumer", "session.timeout.ms"),
            ("consumer: { fetch.max.bytes: 500000 }", "consumer", "fetch.max.bytes"),
            ("producer: { queue.buffering.backpressure.threshold: 10 }", "producer", "backpressure"),
            ("max.in.flight: 10", "producer", "max.in.flight"),
        ])
    func together(properties: String, section: String, what: String) throws {
        for security in ["", "security.protocol: sasl_ssl, ssl.ca.location: none.pem, sasl.password-file: none, "] {
            let configuration = try #require(Reading("kafka: { \(security)\(properties) }").configuration)
            let error = #expect(throws: ProgramError.self) { try configuration.checkClients() }
            expect(error?.exitCode, is: .configuration)
            #expect(
                error?.description.contains("of the \(section): ") == true && error?.description.contains(what) == true)
        }
    }

    @Test("A linger.ms that is valid without transactions may be too long with them")
    func transactions() throws {
        let yaml = "kafka: { producer: { linger.ms: 7000 } }\n"
        try #require(Reading(yaml).configuration).checkClients()
        let other = try #require(Reading(yaml + "delivery: { guarantee: exactly-once }").configuration)
        #expect(throws: ProgramError.self) { try other.checkClients() }
    }

    @Test(
        "Values that suit a service with many cores or without transactions are accepted",
        arguments: ["consumer: { receive.message.max.bytes: 5000000 }", "producer: { linger.ms: 400000 }"])
    func lowered(properties: String) throws {
        try #require(Reading("kafka: { \(properties) }").configuration).checkClients()
    }

    @Test(
        "An alias of a property that has a default of ours is reported",
        arguments: [("metadata.broker.list: a:1", "bootstrap.servers"), ("queue.buffering.max.ms: 50", "linger.ms")])
    func otherNames(property: String, usual: String) {
        let problems = Reading("kafka: { \(property) }").problems
        #expect(problems.count == 1 && problems.first?.hasSuffix("is an alias of \(usual): use that name") == true)
    }

    @Test(
        "A login by tokens without a method to fetch them is reported",
        .enabled(if: ClientProperties.problem(with: "sasl.oauthbearer.method", value: "oidc") != nil),
        arguments: ["sasl.mechanism", "sasl.mechanisms"])
    func tokens(name: String) {
        expect(Reading("kafka: { \(name): PLAIN }").problems, is: [])
        let problems = Reading("kafka: { \(name): OAUTHBEARER }").problems
        #expect(problems.count == 1 && problems.first?.contains("kafka.\(name): needs tokens") == true)
    }

    @Test(
        "An empty value that librdkafka takes but cannot work with is reported",
        arguments: [
            "bootstrap.servers: ''", "consumer: { group.id: '' }", "consumer: { group.instance.id: \"\" }",
            "producer: { transactional.id: '' }",
        ])
    func empty(property: String) {
        let problems = Reading("kafka: { \(property) }\ndelivery: { guarantee: exactly-once }").problems
        expect(problems.count, is: 1)
        expect(problems.first?.hasSuffix(": is empty: set a value or remove it"), is: true)
    }

    @Test(
        "A property without a value is reported if unknown and keeps its default if known",
        arguments: [
            ("nonsense.ms: ", "1:23: kafka.nonsense.ms"), ("nonsense.password-file: ", "kafka.nonsense.password-file"),
            ("consumer: { nonsense.ms: ~ }", "1:35: kafka.consumer.nonsense.ms"),
            ("'sasl.password:geheim': ", "kafka.sasl.password…"), ("sasl.password: ", nil), ("linger.ms: ", nil),
            ("sasl.password-file: ", nil), ("producer: { linger.ms: , compression.codec: }", nil),
        ] as [(String, String?)])
    func unset(property: String, problem: String?) {
        let problems = Reading("kafka: { \(property)}").problems
        expect(problems.count, is: problem == nil ? 0 : 1)
        if let problem, let told = problems.first {
            #expect(told.contains("\(problem): librdkafka has no such property") && !told.contains("geheim"))
        }
    }

    @Test(
        "A client.id that would corrupt the statistics is reported",
        arguments: ["client.id: 'a\"b'", "consumer: { client.id: 'a\\b' }", "producer: { client.id: \"a\\tb\" }"])
    func clientNames(property: String) {
        let problems = Reading("kafka: { \(property) }").problems
        #expect(problems.count == 1 && problems.first?.contains("client.id: contains a quote, backslash") == true)
    }

    @Test(
        "A login in bootstrap.servers is reported and not quoted",
        arguments: [
            "bootstrap.servers: 'a:1,sasl_ssl://u:geheim@b:1'", "consumer: { bootstrap.servers: 'u:geheim@b' }",
        ])
    func login(property: String) {
        let problems = Reading("kafka: { \(property) }").problems
        #expect(problems.count == 1 && problems.first?.contains("bootstrap.servers: contains @") == true)
        expect(problems.first?.contains("geheim"), is: false)
    }

    @Test(
        "A password that a missing space made part of a key is not shown",
        arguments: [
            "{ 'sasl.password:geheim': 1 }", "{ sasl.password=geheim: 1 }", "{ 'sasl.password geheim': 1 }",
            "{ consumer: { 'sasl.password:geheim': 1 } }",
        ])
    func misspelled(section: String) {
        let problems = Reading("kafka: \(section)").problems
        #expect(problems.count == 1 && problems.first?.contains("sasl.password…: librdkafka has no such") == true)
        expect(problems.first?.contains("geheim"), is: false)
    }

    @Test("Known properties are accepted, aliases and topic properties too")
    func passes() {
        let yaml = """
            kafka:
              bootstrap.servers: embedded
              security.protocol: sasl_ssl
              sasl.password: geheim
              compression.type: zstd
              group.id: a
              consumer: { group.instance.id: a, auto.offset.reset: latest, queued.min.messages: 10 }
              producer: { linger.ms: 1, compression.codec: lz4 }
            """
        expect(Reading(yaml).problems, is: [])
    }

    @Test(
        "auto.offset.reset takes all of librdkafka's words, in any case",
        arguments: [
            ("earliest", ShardSettings.Reset.earliest), ("EARLIEST", .earliest), ("Smallest", .earliest),
            ("beginning", .earliest), ("latest", .latest), ("LARGEST", .latest), ("end", .latest), ("Error", .error),
        ])
    func reset(word: String, reset: ShardSettings.Reset) throws {
        for yaml in ["kafka: { auto.offset.reset: \(word) }", "kafka: { consumer: { auto.offset.reset: \(word) } }"] {
            let configuration = try #require(Reading(yaml).configuration)
            try expect(EngineSettings(configuration).shard.reset, is: reset)
        }
    }

    @Test("librdkafka accepts our own defaults") func defaults() {
        for (section, defaults) in [
            (KafkaSettings.Section.common, KafkaDefaults.common), (.consumer, KafkaDefaults.consumer),
            (.producer, KafkaDefaults.producer),
        ] {
            for (name, value) in defaults { #expect(section.problem(name, value) == nil) }
        }
    }
}
