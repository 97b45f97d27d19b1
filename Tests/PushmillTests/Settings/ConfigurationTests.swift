import Glibc
import PushmillStages
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("The configuration")
struct ConfigurationTests {
    @Test("The example is a valid configuration with the default values") func example() throws {
        let reading = Reading(Example.text)
        expect(reading.problems, is: [])
        let example = try #require(reading.configuration)
        let empty = try #require(Reading("").configuration)
        expect(example.stages.map(\.name), is: ["decrypt", "localize", "contact", "badge", "attachment"])
        expect(example.stages.last?.budget, is: .seconds(10))
        expect(example.stages.last?.condition.member?.description, is: "/media-url")
        #expect(empty.stages.isEmpty)
        expect(example.sections(besides: ["stages"]), is: empty.sections(besides: ["stages"]))
        expect(empty.topics.input, is: ["push.events"])
        expect(empty.delivery.deadline, is: .seconds(30))
        #expect(empty.delivery.cores == nil)
        expect(empty.admin.listen, is: ListenAddress(host: "127.0.0.1", port: 9464))
    }

    @Test("The state is in a folder, or in the file of an earlier release")
    func state() throws {
        let folder = try TemporaryFolder()
        func state(_ path: String) throws -> StateSettings {
            try #require(Reading("state: { path: \(folder.path)/\(path) }").configuration).state
        }
        func expect(_ path: String, _ file: String, _ counts: String) throws {
            let state = try state(path)
            try state.makeFolder()
            #expect(state.file == "\(folder.path)/\(file)")
            #expect(state.counts == "\(folder.path)/\(counts)")
        }
        for _ in 0..<2 { try expect("state", "state/state.sqlite", "state/counts") }
        try #expect(folder.mode(of: "state") == 0o700)
        try expect("named.sqlite", "named.sqlite", "counts")
        try folder.write("", to: "left")
        try expect("left", "left", "counts")
        try folder.write("", to: "beside.sqlite")
        try expect("beside", "beside.sqlite", "counts")
        // The path may end with a slash.
        try expect("beside/", "beside.sqlite", "counts")
        // Another file in the folder's place is not touched.
        try folder.write("log: { level: info }", to: "pushmill.yaml")
        #expect(throws: StoreError.unopened(path: "\(folder.path)/pushmill.yaml", error: ENOTDIR)) {
            try state("pushmill.yaml").makeFolder()
        }
        #expect(folder.names == ["beside.sqlite", "left", "pushmill.yaml", "state"])
        #expect(throws: StoreError.unopened(path: "\(folder.path)/a/b", error: ENOENT)) {
            try state("a/b").makeFolder()
        }
    }

    @Test("The redrive journal is in the state folder, or where an earlier release left it")
    func journal() throws {
        let folder = try TemporaryFolder()
        let state = try #require(Reading("state: { path: \(folder.path)/state }").configuration).state
        expect(state.journal, is: "\(folder.path)/state/state.sqlite.redriven")
        for left in ["state.sqlite.redriven", "state.redriven"] {
            let path = try folder.write("", to: left)
            expect(state.journal, is: path)
        }
    }

    @Test("By default a killed instance's partitions are free within seconds, and read at once") func sessions() throws
    {
        let standard = try #require(Reading("").configuration).kafka
        expect(standard.properties(for: .consumer)["session.timeout.ms"], is: "6000")
        expect(standard.properties(for: .consumer)["heartbeat.interval.ms"], is: "250")
        expect(standard.properties(for: .consumer)["fetch.wait.max.ms"], is: "100")
        expect(standard.properties(for: .consumer)["group.id"], is: "pushmill")
        expect(standard.properties(for: .consumer)["auto.offset.reset"], is: "earliest")
        let common = try #require(Reading("kafka: { session.timeout.ms: 45000 }").configuration).kafka
        expect(common.properties(for: .consumer)["session.timeout.ms"], is: "45000")
        let own = try #require(
            Reading("kafka: { linger.ms: 1, producer: { linger.ms: 2 } }").configuration
        ).kafka
        expect(own.properties(for: .producer)["linger.ms"], is: "2")
        expect(own.properties(for: .consumer)["linger.ms"], is: "1")
    }

    @Test("All mistakes are reported at once, in the order of the file") func everything() {
        let reading = Reading(
            """
            kafka:
              bootstrap.servers: [a]
              consumer: { enable.auto.commit: true }
              colour: red
            topcis: {}
            topics:
              input: [a, a, "b c"]
              output: a
            delivery:
              ordring: key
              deadline: 30
              max-in-flight: 99999999999999999999
              cores: 0
            stages:
              - bagde: { mode: x }
              - badge: { mode: incremental }
              - attachment
            admin: { listen: "0.0.0.0:9464" }
            log: { level: warn, level: info }
            """,
            environment: ["PUSHMILL_DELIVERY_DRAIN": "5", "PUSHMILL_TOPIC_OUTPUT": "x"])
        expect(
            reading.problems,
            is: [
                "f.yaml:2:22: kafka.bootstrap.servers: expected one value, found a list",
                "f.yaml:3:35: kafka.consumer.enable.auto.commit: is reserved: an offset is committed when the output"
                    + " is acknowledged, not at intervals",
                "f.yaml:4:11: kafka.colour: librdkafka has no such property",
                "f.yaml:5:1: topcis: unknown key; did you mean \"topics\"?",
                "f.yaml:7:10: topics.input: names a twice",
                "f.yaml:7:10: topics.input: must be one topic, because the badge stage keeps counts by partition"
                    + " number",
                "f.yaml:7:17: topics.input[2]: expected a topic's name (letters, digits, '.', '_' and '-', at most"
                    + " 249), found \"b c\"",
                "f.yaml:8:11: topics.output: a is already the input topic",
                "f.yaml:10:3: delivery.ordring: unknown key; did you mean \"ordering\"?",
                "f.yaml:11:13: delivery.deadline: expected a duration such as 200ms, 30s or 5m, from 1ms to 1h,"
                    + " found \"30\"",
                "f.yaml:12:18: delivery.max-in-flight: expected an integer from 1 to 10000000, found"
                    + " \"99999999999999999999\"",
                "f.yaml:13:10: delivery.cores: expected auto, or an integer from 1 to 256, found \"0\"",
                "f.yaml:15:5: stages.bagde: no such stage; did you mean \"badge\"?",
                "f.yaml:16:20: stages.badge.mode: expected increment or absolute, found \"incremental\"; did you"
                    + " mean \"increment\"?",
                "f.yaml:17:5: stages.attachment.public-base: is required",
                "f.yaml:17:5: stages.attachment.store: is required",
                "f.yaml:17:5: stages.attachment.allow-hosts: name the hosts that media may come from, or \"*\" for any"
                    + " public one",
                "f.yaml:18:18: admin.listen: 0.0.0.0:9464 is reachable from other machines: token-file is required",
                "f.yaml:19:15: log.level: expected error, warning, info, debug or trace, found \"warn\"; did you"
                    + " mean \"warning\"?",
                "f.yaml:19:21: \"level\" appears twice; the first one is at f.yaml:19:8",
                "PUSHMILL_DELIVERY_DRAIN: delivery.drain: expected a duration such as 200ms, 30s or 5m, from 0ms to"
                    + " 5m, found \"5\"",
                "PUSHMILL_TOPIC_OUTPUT: no such setting; did you mean \"PUSHMILL_TOPICS_OUTPUT\"?",
            ])
    }

    @Test(
        "Settings that depend on other sections are checked too",
        arguments: [
            (
                "delivery: { ordering: none }\nstages: [badge]\n",
                [
                    "1:23: delivery.ordering: must be key or partition, because the badge stage counts"
                ]
            ),
            ("delivery: { ordering: none }\n", []),
            (
                "topics: { input: [a, b] }\ndelivery: { guarantee: exactly-once }\nstages: [badge]\n",
                [
                    "1:18: topics.input: must be one topic, because the badge stage keeps counts by partition"
                        + " number"
                ]
            ),
            (
                "topics: { input: [a, b] }\nstages: [badge]\n",
                [
                    "1:18: topics.input: must be one topic, because the badge stage keeps counts by partition"
                        + " number"
                ]
            ),
            (
                "topics: { dead-letter: push.events }\n",
                [
                    "1:24: topics.dead-letter: push.events is already the input topic"
                ]
            ),
            (
                "topics: { output: push.dead-letters }\n",
                [
                    "1:9: topics.dead-letter: push.dead-letters is already the output topic"
                ]
            ),
            ("topics: { output: push.badges }\n", []),
            (
                "stages: [badge]\ntopics: { output: push.badges }\n",
                [
                    "2:9: topics.badge-changelog: push.badges is already the output topic"
                ]
            ),
            (
                "delivery: { guarantee: exactly-once, checkpoint-interval: 6s }\n",
                [
                    "1:59: delivery.checkpoint-interval: must be at most half of the producer's"
                        + " transaction.timeout.ms, which is 6000"
                ]
            ),
            (
                "delivery: { guarantee: exactly-once, checkpoint-interval: 6s }\n"
                    + "kafka: { producer: { transaction.timeout.ms: 12000 } }\n", []
            ),
            ("delivery: { checkpoint-interval: 6s }\n", []),
            (
                "kafka: { socket.timeout.ms: 6001, producer: { message.timeout.ms: 8000 } }\n"
                    + "delivery: { guarantee: exactly-once }\n",
                [
                    "1:29: kafka.socket.timeout.ms: must be at most the producer's transaction.timeout.ms, which is 6000",
                    "1:67: kafka.producer.message.timeout.ms: must be at most the producer's transaction.timeout.ms,"
                        + " which is 6000",
                ]
            ),
            (
                "kafka: { socket.timeout.ms: 6000, producer: { message.timeout.ms: 8000, transaction.timeout.ms: 8000 } }\n"
                    + "delivery: { guarantee: exactly-once }\n", []
            ),
            ("kafka: { socket.timeout.ms: 60000 }\n", []),
            ("topics: { input: [] }\n", ["1:18: topics.input: must name a topic"]),
            ("stages: [contact: { source: topic:contacts }]\n", []),
            (
                "topics: { output: contacts }\nstages: [contact: { source: topic:contacts }]\n",
                ["2:10: stages.contact.source: contacts is already the output topic"]
            ),
        ])
    func crossChecks(yaml: String, problems: [String]) {
        expect(Reading(yaml).problems, is: problems.map { "f.yaml:\($0)" })
    }

    @Test("The changelog of a custom counting stage must not be another topic either")
    func ownCounter() throws {
        let configuration = try #require(Reading("topics: { output: push.badges }").configuration)
        let problems = configuration.countingProblems(of: "counter")
        expect(
            problems.map { "\($0.path.joined(separator: ".")): \($0.message)" },
            is: ["topics.badge-changelog: push.badges is already the output topic"])
    }

    @Test(
        "Contacts can be co-partitioned only if they come from a topic",
        arguments: [
            (#"source: "topic:people""#, ContactTopic(name: "people", isCoPartitioned: false), []),
            (
                #"source: "topic:people", co-partitioned: true"#,
                ContactTopic(name: "people", isCoPartitioned: true), []
            ),
            ("source: state, co-partitioned: false", nil, []),
            ("co-partitioned: true", nil, ["37: only a topic source has partitions; the source is state"]),
            (
                "source: c.jsonl, co-partitioned: true", nil,
                ["54: only a topic source has partitions; the source is /etc/pushmill/c.jsonl"]
            ),
            (#"source: "topic:people", co-partitioned: yes"#, nil, [#"61: expected true or false, found "yes""#]),
        ])
    func coPartitioned(settings: String, topic: ContactTopic?, problems: [String]) throws {
        let reading = Reading("stages: [contact: { \(settings) }]", registry: StageRegistry())
        let expected = problems.map { problem in
            let parts = problem.split(separator: ": ", maxSplits: 1)
            return "f.yaml:1:\(parts[0]): stages.contact.co-partitioned: \(parts[1])"
        }
        expect(reading.problems, is: expected)
        expect(reading.configuration?.contactTopic, is: topic)
    }

    @Test(
        "Beyond loopback the admin endpoint requires a token",
        arguments: [
            ("127.0.0.1:9464", true), ("127.255.0.1:0", true), ("\"[::1]:1\"", true), ("localhost:9464", true),
            ("0.0.0.0:9464", false), ("\"[::]:9464\"", false), ("\":9464\"", false), ("10.0.0.1:1", false),
        ])
    func token(listen: String, isLoopback: Bool) throws {
        expect(Reading("admin: { listen: \(listen) }").problems.isEmpty, is: isLoopback)
        let open = Reading("admin: { listen: \(listen), token-file: token }")
        expect(open.configuration?.admin.tokenFile, is: "/etc/pushmill/token")
    }

    @Test(
        "A listen setting that is not a numeric address and port is refused",
        arguments: [
            "9464", "127.0.0.1:65536", "127.0.0.1:-1", "\"::1:9464\"", "\"127.0.0.1:\"", "a:1", "127.1:1",
            "127.0.0.1.example.com:1",
        ])
    func listen(text: String) {
        let reading = Reading("admin: { listen: \(text), token-file: t }")
        expect(reading.problems.count, is: 1)
        expect(
            reading.problems.first?.contains("expected a numeric address and a port such as 127.0.0.1:9464"), is: true)
    }
}

extension Configuration {
    /// The effective sections as YAML.
    fileprivate func sections(besides names: Set<String>) -> String {
        guard case .map(let members) = effective.value else { return "" }
        return YAMLText.render(
            Setting(place: effective.place, value: .map(members.filter { !names.contains($0.key) })))
    }
}
