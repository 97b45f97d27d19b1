import Glibc
import PushmillEngine
import PushmillKafka
import PushmillStages
import PushmillTelemetry

/// What has to be right outside before a service starts: better said now than found in a log later.
enum Startup {
    /// Milliseconds for a broker's answer, and how often it is waited for so long: between two times it can be ended.
    private static let reachPatience: Int32 = 1000
    private static let reachTimes = 5
    private static let patience: Int32 = 5000
    private static let limitPatience: Int32 = 2000

    /// Connections and files of media are as many as the process may have open. What counts descriptors by the old limit,
    /// as `select` does, is not in this process.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Gives the identity of the cluster, and limits batches to what its topics take; throws `outside` where something has
    /// to be mended or come first. Topics are found by a producer: where brokers create what a producer asks for, they may.
    static func check(
        _ settings: inout EngineSettings, contacts: ContactTopic?, _ log: Log
    ) throws(ProgramError) -> String {
        // What its shards' clients are made of.
        let shared = settings.shared
        let (consumer, producer) = (shared.consumer(of: 0), shared.producer(of: 0))
        if let error = GroupConsumer.problem(consumer) { throw refusal(error, of: "consumer", consumer) }
        if let error = OutputProducer.problem(producer) { throw refusal(error, of: "producer", producer) }
        let client = try client(settings.producer)
        try reach(client, settings.producer["bootstrap.servers"] ?? "")
        let inputs = try settings.input.map { name throws(ProgramError) in try find(name, client, setting: "topics") }
        for name in [settings.output, settings.deadLetters] { _ = try find(name, client, setting: "topics") }
        if let contacts {
            try contacts.check(try find(contacts.name, client, setting: "stages.contact.source"), beside: inputs)
        }
        if let changelog = settings.changelog, let input = inputs.first {
            try goOn()
            try ChangelogTopic(changelog, beside: input, settings.consumer).prepare(client, log)
        }
        try goOn()
        guard let cluster = client.clusterID(milliseconds: patience) else {
            throw .outside(.starting("the brokers do not say which cluster they are"))
        }
        try goOn()
        limitBatches(&settings, client)
        return cluster
    }

    /// One that only asks: the name of the transactions is no matter of its.
    private static func client(_ properties: ClientProperties) throws(ProgramError) -> ClusterClient {
        var properties = properties
        properties["transactional.id"] = nil
        do throws(KafkaError) {
            return try ClusterClient(properties)
        } catch {
            throw refusal(error, of: "producer", properties)
        }
    }

    /// What librdkafka says against a client. With TLS it reads files, which may be mended, or there in a moment: unless it
    /// would refuse the rest as well.
    static func refusal(_ error: KafkaError, of client: String, _ properties: ClientProperties) -> ProgramError {
        guard let plain = properties.withoutTLS else { return .refused(client, error) }
        let problem = client == "consumer" ? GroupConsumer.problem(plain) : OutputProducer.problem(plain)
        if let problem { return .refused(client, problem) }
        let what = "the \(client) cannot use TLS: correct ssl.* under kafka, or the files that it names"
        return .outside(ProbeReason("tls", "\(what) (\(error.message))"))
    }

    /// A batch that is refused for its size fails a whole transaction: no batch is larger than the topics take, as far as
    /// brokers tell.
    private static func limitBatches(_ settings: inout EngineSettings, _ client: ClusterClient) {
        guard settings.shard.isTransactional else { return }
        let limits = client.setting(
            "max.message.bytes",
            ofTopics: [settings.output, settings.deadLetters] + [settings.changelog].compactMap(\.self),
            milliseconds: limitPatience)
        guard let limit = limits.values.compactMap({ Int($0) }).min() else { return }
        let configured = settings.producer["batch.size"].flatMap { Int($0) } ?? 1_000_000
        settings.producer["batch.size"] = "\(min(limit, configured))"
    }

    /// Throws what keeps a command from the brokers that it has asked in vain; nothing where they answer now.
    static func reach(_ properties: ClientProperties) throws(ProgramError) {
        try reach(client(properties), properties["bootstrap.servers"] ?? "")
    }

    /// Not by a client that outlives the attempt: it would wait longer and longer before it tries again. Brokers that are far
    /// away need some seconds for a login; those that are not there are known at once.
    private static func reach(_ client: ClusterClient, _ servers: String) throws(ProgramError) {
        var failure = client.reach(milliseconds: reachPatience)
        for _ in 1..<reachTimes where failure?.mayBeSlowness == true {
            try goOn()
            failure = client.reach(milliseconds: reachPatience)
        }
        guard let error = failure else { return }
        let reason =
            if error.isLogin {
                ProbeReason(
                    "authentication",
                    "the brokers at \(servers) refuse the login: correct sasl.* under kafka, or the brokers (\(error))")
            } else if error.isTLS {
                ProbeReason(
                    "tls",
                    """
                    no secure connection to \(servers) can be made: correct ssl.* under kafka, or the brokers (\(error))
                    """)
            } else {
                ProbeReason(
                    "no-broker",
                    "no broker answers at \(servers): are they up, and is kafka.bootstrap.servers right? (\(error))")
            }
        throw .outside(reason)
    }

    /// Not where it is to end already.
    private static func goOn() throws(ProgramError) {
        guard !Signals.isEndWanted else { throw .interrupted }
    }

    private static func find(
        _ name: String, _ client: ClusterClient, setting: String
    ) throws(ProgramError) -> TopicPartitions {
        try goOn()
        do throws(KafkaError) {
            return TopicPartitions(name: name, count: try client.partitionCount(of: name, milliseconds: patience))
        } catch {
            guard error.isUnknownTopic else { throw .outside(.topic(name, error)) }
            let detail = "the brokers know no topic \(name): create it, or correct it under \(setting)"
            throw .outside(ProbeReason("unknown-topic", detail))
        }
    }
}

/// A start that waits for what is outside of this process: brokers, what they let it do, their topics. Says why it waits,
/// to readiness and in the log, when that changes and from time to time.
struct StartWait {
    private static let toldEvery = Duration.seconds(5)
    /// Between two attempts. Brokers are back before anybody waits for them; what people have to mend takes them longer,
    /// and an account may be locked for too many wrong passwords.
    private static let shortPause = Duration.milliseconds(500)
    private static let longPause = Duration.seconds(5)
    /// How soon it sees that it is to end.
    private static let step = Duration.milliseconds(100)

    let log: Log
    let handle: EngineHandle

    /// Tries until it succeeds; throws what nothing outside of this process can mend.
    func run<Result>(_ body: () throws(ProgramError) -> Result) throws(ProgramError) -> Result {
        var attempt = 1
        var told: (reason: String, at: Instant)?
        while true {
            let problem: ProbeReason
            do throws(ProgramError) {
                return try body()
            } catch .outside(let reason) {
                problem = reason
            }
            handle.waits(for: problem)
            let now = TimeSource.system.now
            if told.map({ $0.reason != problem.reason || $0.at + Self.toldEvery <= now }) ?? true {
                told = (problem.reason, now)
                log.warning(
                    "the service cannot start yet: it waits",
                    [.reason(problem.reason), .attempt(attempt), .error(text: problem.detail)])
            }
            attempt += 1
            try pause(["no-broker", "starting"].contains(problem.reason) ? Self.shortPause : Self.longPause)
        }
    }

    private func pause(_ time: Duration) throws(ProgramError) {
        let end = TimeSource.system.now + time
        while TimeSource.system.now < end {
            guard !Signals.isEndWanted else { throw .interrupted }
            usleep(UInt32(Self.step / .microseconds(1)))
        }
    }
}

extension ProgramError {
    static func refused(_ client: String, _ error: KafkaError) -> ProgramError {
        .unreadableConfiguration("librdkafka refuses the configuration of the \(client): \(error.message)")
    }
}

extension ClientProperties {
    /// Nil where they ask for no TLS.
    fileprivate var withoutTLS: ClientProperties? {
        let plain = ["ssl": "plaintext", "sasl_ssl": "sasl_plaintext"]
        guard let name = self["security.protocol"]?.lowercased(), let protocolName = plain[name] else { return nil }
        var properties = ClientProperties(entries.filter { !$0.name.hasPrefix("ssl.") })
        properties["security.protocol"] = protocolName
        return properties
    }
}

extension ProbeReason {
    static func starting(_ detail: String) -> ProbeReason { ProbeReason("starting", detail) }

    /// Why nothing can be learned of a topic that may be there.
    static func topic(_ name: String, _ error: KafkaError) -> ProbeReason {
        let detail = "nothing can be learned of the topic \(name): \(error)"
        return error.isForbidden ? ProbeReason("not-authorized", detail) : .starting(detail)
    }
}
