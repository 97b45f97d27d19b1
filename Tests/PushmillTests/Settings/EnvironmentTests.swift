import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Environment variables")
struct EnvironmentTests {
    @Test("A variable can set any scalar, whether or not the file has it") func overrides() throws {
        let reading = Reading(
            "kafka: { bootstrap.servers: a }\nstages: [decrypt: { keys: a }]\n",
            environment: [
                "PUSHMILL_KAFKA_BOOTSTRAP_SERVERS": "b:9092", "PUSHMILL_STATE_PATH": "s.sqlite",
                "PUSHMILL_DELIVERY_CHECKPOINT_INTERVAL": "1s", "PUSHMILL_KAFKA_CONSUMER_SESSION_TIMEOUT_MS": "7000",
                "PUSHMILL_KAFKA_CONSUMER_GROUP_INSTANCE_ID": "pod-1", "PUSHMILL_STAGES_DECRYPT_KEYS": "/k",
                "PUSHMILL_STAGES_DECRYPT_OPENSSL_DIGEST": "md5", "PUSHMILL_TOPICS_INPUT": "x,y",
                "PUSHMILL_STAGES_DECRYPT_WHEN_CATEGORY": "A", "PUSHMILL_ADMIN_TOKEN_FILE": "", "PATH": "/bin",
                "PORT": "1",
            ])
        expect(reading.problems, is: [])
        let configuration = try #require(reading.configuration)
        expect(configuration.kafka.common["bootstrap.servers"], is: "b:9092")
        expect(configuration.kafka.consumer["session.timeout.ms"], is: "7000")
        expect(configuration.kafka.consumer["group.instance.id"], is: "pod-1")
        #expect(configuration.kafka.common["consumer.group.instance.id"] == nil)
        expect(configuration.state.file, is: "/etc/pushmill/s.sqlite")
        expect(configuration.delivery.shard.checkpointInterval, is: .seconds(1))
        expect(configuration.topics.input, is: ["x", "y"])
        expect(configuration.stages.first?.condition.categories, is: ["A"])
        let shown = YAMLText.render(configuration.effective)
        #expect(shown.contains("keys: /k\n"))
        #expect(shown.contains("digest: md5\n"))
    }

    @Test(
        "The bytes that were read from a secret's file are wiped",
        arguments: [[103, 10], [255, 254], [10], [103, 0, 104, 0]] as [[UInt8]])
    func wipedSecrets(bytes: [UInt8]) throws {
        let folder = try TemporaryFolder()
        var file = try FileBytes(path: folder.write(bytes, to: "secret"))
        let text = try? SecretText.text(of: &file, "secret")
        expect(text, is: (bytes == [103, 10] ? "g" : nil))
        expect(file.bytes, is: [UInt8](repeating: 0, count: bytes.count))
    }

    @Test("A Kafka secret is read from a file that the configuration or a variable names")
    func secretFiles() throws {
        let folder = try TemporaryFolder()
        let password = try folder.write("geheim \n", to: "password")
        let secret = try folder.write("\u{FEFF}client\r\n", to: "client")
        let key = try folder.write("-----BEGIN\nKEY\n", to: "key.pem")
        let reading = Reading(
            "kafka: { sasl.password-file: \(password), producer: { ssl.key.pem-file: \(key), ssl.key.password: x } }",
            environment: [
                "PUSHMILL_KAFKA_CONSUMER_SSL_KEY_PASSWORD_FILE": secret,
                "PUSHMILL_KAFKA_SSL_KEYSTORE_PASSWORD_FILE": "none",
            ])
        expect(reading.problems, is: [])
        let configuration = try #require(reading.configuration)
        let shown = YAMLText.render(configuration.effective)
        #expect(shown.contains("sasl.password-file: \(password)\n"))
        #expect(!shown.contains("geheim"))
        #expect(shown.contains("ssl.keystore.password-file: /etc/pushmill/none\n"))
        do {
            _ = try configuration.kafka.client(.consumer)
            Issue.record("a file that is not there was read")
        } catch {
            expect(
                "\(error)",
                is: "pushmill: kafka.ssl.keystore.password-file: /etc/pushmill/none: "
                    + "No such file or directory")
        }
        let sound = try #require(
            Reading(
                "kafka: { sasl.password-file: \(password), producer: { ssl.key.pem-file: \(key) }, "
                    + "consumer: { ssl.key.password-file: \(secret) } }"
            ).configuration)
        try expect(sound.kafka.client(.consumer)["sasl.password"], is: "geheim ")
        try expect(sound.kafka.client(.consumer)["ssl.key.password"], is: "client")
        #expect(try sound.kafka.client(.consumer)["sasl.password-file"] == nil)
        try expect(sound.kafka.client(.producer)["ssl.key.pem"], is: "-----BEGIN\nKEY")
        let oauth = "sasl.oauthbearer.client.secret"
        expect(KafkaSettings.secret(ofFile: "\(oauth)-file"), is: oauth)
    }

    @Test("A -file property for no secret, or beside the secret itself, is a mistake")
    func wrongFiles() {
        let problems = Reading(
            "kafka: { linger.ms-file: a, sasl.password-file: b, sasl.password: c, my.password-file: d }"
        ).problems
        expect(problems.count, is: 3)
        expect(problems.first?.contains("kafka.linger.ms-file: librdkafka has no such property"), is: true)
        expect(problems.dropFirst().first?.hasSuffix("sasl.password is set too: keep only one of them"), is: true)
        expect(problems.last?.contains("kafka.my.password-file: librdkafka has no such property"), is: true)
    }

    @Test(
        "A variable that names no setting is a mistake",
        arguments: [
            ("PUSHMILL_STATE_PAHT", "; did you mean \"PUSHMILL_STATE_PATH\"?"),
            ("PUSHMILL_STAGES_DECRYPT_KEYS", ""), ("PUSHMILL_KAFKA", ""), ("PUSHMILL_", ""),
        ])
    func unknown(name: String, question: String) {
        let problems = Reading("", environment: [name: "x"]).problems
        expect(problems, is: ["\(name): no such setting\(question)"])
    }

    @Test("A stage's own setting may share the name of a Kubernetes variable")
    func ownNames() throws {
        let relay = StageEntry("relay") { settings in
            _ = settings.value("service-host", .name, default: "a")
            _ = settings.value("service-port", .integer(1...65_535), default: 1)
            return { _ in BadgeStage(mode: .increment) }
        }
        let reading = Reading(
            "stages: [relay]",
            environment: [
                "PUSHMILL_STAGES_RELAY_SERVICE_HOST": "b", "PUSHMILL_STAGES_RELAY_SERVICE_PORT": "2",
                "PUSHMILL_STAGES_RELAY_PORT": "tcp://10.0.0.1:9464",
            ], registry: StageRegistry(adding: [relay]))
        expect(reading.problems, is: [])
        let shown = YAMLText.render(try #require(reading.configuration).effective)
        #expect(shown.contains("service-host: b\n"))
        #expect(shown.contains("service-port: 2\n"))
    }

    @Test(
        "Variables that Kubernetes, Docker or tests set under our name are ignored",
        arguments: [
            ("PUSHMILL_SERVICE_HOST", "10.0.0.1"), ("PUSHMILL_SERVICE_PORT", "9464"),
            ("PUSHMILL_SERVICE_PORT_METRICS", "9464"), ("PUSHMILL_PORT", "tcp://10.0.0.1:9464"),
            ("PUSHMILL_PORT_9464_TCP", "tcp://10.0.0.1:9464"), ("PUSHMILL_PORT_9464_TCP_ADDR", "10.0.0.1"),
            ("PUSHMILL_ADMIN_PORT_9464_TCP_PROTO", "tcp"), ("PUSHMILL_ADMIN_SERVICE_HOST", "10.0.0.1"),
            ("PUSHMILL_NAME", "/feeder/pushmill"), ("PUSHMILL_ENV_PATH", "/usr/bin:/bin"),
            ("PUSHMILL_1_ENV_PUSHMILL_ADMIN_LISTEN", "0.0.0.0:9464"), ("PUSHMILL_TEST_BROKERS", "a:9092"),
        ])
    func foreign(name: String, value: String) {
        expect(Reading("", environment: [name: value]).problems, is: [])
        let own = ["PUSHMILL_PORT": "9464", "PUSHMILL_ADMIN_PORT_X_TCP": "1", "PUSHMILL_NAME": "a"]
        expect(Reading("", environment: own).problems.count, is: 3)
    }
}
