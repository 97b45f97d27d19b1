import PushmillKafka
import PushmillPayload
package import PushmillStages

/// Properties under librdkafka's own names, defaults included.
package struct KafkaSettings: Sendable {
    package enum Section: String, Sendable {
        case common = "kafka"
        case consumer = "kafka.consumer"
        case producer = "kafka.producer"
    }

    package let common: [SettingProperty]
    package let consumer: [SettingProperty]
    package let producer: [SettingProperty]

    /// True if the broker runs in this process.
    package var isEmbedded: Bool { common["bootstrap.servers"] == "embedded" }

    init(from settings: inout SettingReader) {
        let common = settings.properties(
            besides: ["consumer", "producer"], defaults: KafkaDefaults.common, format: KafkaSettings.format,
            problem: KafkaSettings.unknown)
        func read(_ key: String, _ defaults: [(name: String, value: String)]) -> [SettingProperty] {
            // A default for one of the clients must not override a setting for both.
            let open = defaults.filter { standard in !common.contains { $0.name == standard.name } }
            return settings.map(key) {
                $0.properties(defaults: open, format: KafkaSettings.format, problem: KafkaSettings.unknown)
            }
        }
        self.common = common
        consumer = read("consumer", KafkaDefaults.consumer)
        producer = read("producer", KafkaDefaults.producer)
    }

    /// The properties for a section's client, with secrets read from their files.
    func client(_ section: Section) throws(ProgramError) -> ClientProperties {
        let entries = try properties(for: section).map { (property) throws(ProgramError) -> (String, String) in
            guard let secret = Self.secret(ofFile: property.name) else { return (property.name, property.value) }
            return try explaining("kafka.\(property.name)", as: ProgramError.unreadableConfiguration) {
                (secret, try SecretText.read(property.value))
            }
        }
        return ClientProperties(entries)
    }

    /// The secret property that a `…-file` stands for; nil if it stands for none.
    static func secret(ofFile name: String) -> String? {
        guard name.hasSuffix(fileSuffix) else { return nil }
        let secret = String(name.dropLast(fileSuffix.count))
        return isSecret(secret) ? secret : nil
    }

    private static let fileSuffix = "-file"

    private static func isSecret(_ name: String) -> Bool {
        ["password", "secret", ".pem", "oauthbearer.config"].contains(where: name.contains)
    }

    /// The properties for a section: the common ones, then its own, which may replace them.
    package func properties(for section: Section) -> [SettingProperty] {
        switch section {
        case .common: common
        case .consumer: common + consumer
        case .producer: common + producer
        }
    }

    /// In milliseconds. A dead instance holds up its partitions and the readers of the outputs for at least this time.
    /// The default is as long as a member's session.
    package var transactionTimeout: Int {
        properties(for: .producer)["transaction.timeout.ms"].flatMap { Int($0) } ?? 6_000
    }

    /// Nil for a name that librdkafka knows, even if it names a secret's file.
    fileprivate static func unknown(_ name: String) -> String? {
        let property = secret(ofFile: name) ?? name
        let candidates = KnownProperty.all.lazy.map(\.name)
        guard !candidates.contains(property), ClientProperties.problem(with: property, value: "-") != nil else {
            return nil
        }
        return "librdkafka has no such property" + Spelling.question(property, candidates)
    }

    private static func format(_ name: String) -> SettingFormat<String> {
        if secret(ofFile: name) != nil { return .file }
        if isSecret(name) { return .text.hidden }
        // `probe` makes librdkafka search the usual places for certificates.
        return isOfFile(name) ? .file(besides: ["probe"]) : .text
    }

    /// The property's value is the path of a file.
    static func isOfFile(_ name: String) -> Bool {
        secret(ofFile: name) != nil || name.hasSuffix(".location") || name.hasSuffix(".keytab")
    }
}

extension [SettingProperty] {
    /// The last one counts, as in librdkafka.
    subscript(name: String) -> String? { last { $0.name == name }?.value }
}

extension KafkaSettings.Section {
    /// Why librdkafka refuses a property here; nil if it knows the property and accepts its value.
    func problem(_ name: String, _ value: String) -> String? {
        if let usual = KafkaDefaults.otherNames[name] { return "is an alias of \(usual): use that name" }
        if value.isEmpty, KafkaDefaults.needed.contains(name) { return "is empty: set a value or remove it" }
        if name == "bootstrap.servers", value.utf8.contains(UInt8(ascii: "@")) {
            // librdkafka takes no login here, and servers appear in the log, in probes and in errors.
            return "contains @: brokers are HOST:PORT, and the login belongs in sasl.username and sasl.password"
        }
        if name == "client.id", value.utf8.contains(where: { $0 < 0x20 || "\"\\".utf8.contains($0) }) {
            // librdkafka writes it unescaped into its statistics (`rd_kafka_stats_emit_all`), which are then not JSON.
            return "contains a quote, backslash or control character: lag, queue and round trips would be unknown"
        }
        if ["sasl.mechanism", "sasl.mechanisms"].contains(name), value == "OAUTHBEARER",
            ClientProperties.problem(with: "sasl.oauthbearer.method", value: "oidc") != nil
        {
            // librdkafka would wait forever for a token from this process, without an error.
            return "needs tokens that this librdkafka does not fetch: use PLAIN, SCRAM-SHA-512 or another"
        }
        let known = KnownProperty.all.first { $0.name == name }
        if let refusal = ClientProperties.problem(with: name, value: value) {
            return known == nil ? KafkaSettings.unknown(name) ?? refusal : refusal
        }
        switch self {
        case .consumer where known?.isForConsumers == false: return "is a property of producers"
        case .producer where known?.isForProducers == false: return "is a property of consumers"
        default: return nil
        }
    }
}

/// Defaults that differ from librdkafka's.
enum KafkaDefaults {
    /// Other names that librdkafka accepts for properties that have a default here or are read here.
    static let otherNames = ["metadata.broker.list": "bootstrap.servers", "queue.buffering.max.ms": "linger.ms"]

    /// librdkafka accepts them empty. Then no group is joined, or each instance joins under the same name.
    static let needed = ["bootstrap.servers", "group.id", "group.instance.id", "transactional.id"]

    static let common: [(name: String, value: String)] = [
        ("bootstrap.servers", "kafka:9092"),
        ("client.id", "pushmill"),
        // With TLS librdkafka sends a request in pieces, and the second would wait some 40 ms for brokers to
        // acknowledge the first (`rd_kafka_transport_ssl_send`).
        ("socket.nagle.disable", "true"),
        // Lag, queue and round trips come from the statistics.
        ("statistics.interval.ms", "1000"),
    ]

    static let consumer: [(name: String, value: String)] = [
        ("group.id", "pushmill"),
        ("auto.offset.reset", "earliest"),
        // The partitions of a killed instance are served again within seconds, not after 45 s.
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "250"),
        // A partition that is taken over is read when the fetch under way returns, which may have nothing to bring.
        ("fetch.wait.max.ms", "100"),
    ]

    static let producer: [(name: String, value: String)] = [
        ("linger.ms", "5")
    ]
}

/// Properties of librdkafka that the service's guarantees rest on. Setting one to the required value does no harm.
enum ReservedProperties {
    /// Why a property cannot have its value; nil if it can.
    static func refusal(of property: SettingProperty, _ guarantee: DeliverySettings.Guarantee) -> String? {
        let rule = rules.first { $0.names.contains(property.name) && ($0.guarantee ?? guarantee) == guarantee }
        guard let rule, !rule.allowed.contains(property.value.lowercased()) else { return nil }
        return "is reserved: \(rule.reason)"
    }

    private struct Rule {
        let names: [String]
        let allowed: [String]
        /// The guarantee it holds for; nil for both.
        let guarantee: DeliverySettings.Guarantee?
        let reason: String

        init(
            _ names: [String], _ allowed: [String], _ reason: String, only guarantee: DeliverySettings.Guarantee? = nil
        ) {
            (self.names, self.allowed, self.guarantee, self.reason) = (names, allowed, guarantee, reason)
        }
    }

    private static let yes = ["true", "t", "1"]
    private static let no = ["false", "f", "0"]

    private static let rules = [
        Rule(["enable.idempotence"], yes, "without idempotence, a retry could publish twice or out of order"),
        Rule(
            ["enable.auto.commit", "auto.commit.enable"], no,
            "an offset is committed when the output is acknowledged, not at intervals"),
        Rule(["auto.commit.interval.ms"], [], "commits follow delivery.checkpoint-interval"),
        Rule(
            ["enable.auto.offset.store"], no,
            "an offset is committed when the output is acknowledged, not when the record is read"),
        Rule(
            ["offset.store.method", "offset.store.path", "offset.store.sync.interval.ms"], ["broker"],
            "offsets are committed to the group"),
        Rule(
            ["partition.assignment.strategy"], ["cooperative-sticky"],
            "a rebalance must leave the other partitions running"),
        Rule(["isolation.level"], ["read_committed"], "records of aborted transactions must not be published"),
        Rule(
            ["message.timeout.ms", "delivery.timeout.ms"], ["0"],
            "a record is retried until the brokers store it or refuse it for good", only: .atLeastOnce),
        Rule(
            ["retries", "message.send.max.retries"], ["2147483647"],
            "a record is retried until the brokers store it or refuse it for good"),
        Rule(
            ["acks", "request.required.acks"], ["all", "-1"], "a record that only one broker has can be lost with it"),
        Rule(["transactional.id"], [], "transactions require delivery.guarantee: exactly-once", only: .atLeastOnce),
        Rule(["partitioner"], ["murmur2_random"], "a key must go to the partition that Java clients choose"),
        Rule(["queuing.strategy"], ["fifo"], "a recipient's notifications must stay in order"),
        Rule(["delivery.report.only.error"], no, "offsets are committed as delivery reports acknowledge outputs"),
        Rule(["enable.partition.eof"], no, "the service sets it where needed"),
        Rule(
            ["test.mock.num.brokers"], ["0"],
            "each client would get its own broker; bootstrap.servers: embedded starts one for both"),
        // librdkafka 2.0.2 does, in every client. And errors, which probes show, quote `sasl.oauthbearer.config`.
        Rule(["enable.sasl.oauthbearer.unsecure.jwt"], no, "librdkafka crashes when it renews such a token"),
    ]
}

/// A secret in a file of its own, as mounted secrets are.
enum SecretText {
    /// The file does not contain what it must.
    struct Unusable: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The whole text, except the line end that an editor adds.
    static func read(_ path: String) throws -> String {
        var file = try FileBytes(path: path, limit: 1 << 20)
        return try text(of: &file, path)
    }

    /// Wipes the file's bytes in every case. The text is not wiped: librdkafka's clients need it for their lifetime,
    /// and so do clients that are created later.
    static func text(of file: inout FileBytes, _ path: String) throws(Unusable) -> String {
        defer { file.wipe() }
        var text = String(validating: file.bytes, as: UTF8.self) ?? ""
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        // librdkafka would cut the text off at a NUL.
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw Unusable("\(path) is empty, not UTF-8, or contains a NUL character")
        }
        return text
    }
}
