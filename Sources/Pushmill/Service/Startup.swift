import Glibc
import PushmillEngine
import PushmillKafka
import PushmillStages
import PushmillTelemetry

/// Checks what a service needs outside the process, so problems are reported at the start and not found in a log later.
enum Startup {
    /// Milliseconds to wait for a broker's answer, and how many such waits.
    private static let reachPatience: Int32 = 1000
    private static let reachTimes = 5
    private static let patience: Int32 = 5000
    private static let limitPatience: Int32 = 2000

    /// Permits as many connections and media files as the process may have open. Nothing in this process depends on the
    /// old limit, as `select` would.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Returns the cluster's identity, and limits batches to what its topics accept. Throws `outside` if something must
    /// be fixed or come first. Asks for topics as a producer, so brokers may create those that producers ask for.
    static func check(
        _ settings: inout EngineSettings, contacts: ContactTopic?, _ log: Log
    ) throws(ProgramError) -> String {
        // The properties that the shards' clients are created with.
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
            contacts.checkCompaction(client, log)
        }
        if let changelog = settings.changelog, let input = inputs.first {
            try ChangelogTopic(changelog, beside: input, settings.consumer).prepare(client, log)
            settings.changelogPartitions = input.count
        }
        guard let cluster = client.clusterID(milliseconds: patience) else {
            throw .outside(.starting("the brokers do not report their cluster id"))
        }
        limitBatches(&settings, client)
        return cluster
    }

    /// A client that only asks, so it needs no `transactional.id`.
    static func client(_ properties: ClientProperties) throws(ProgramError) -> ClusterClient {
        var properties = properties
        properties["transactional.id"] = nil
        do throws(KafkaError) {
            return try ClusterClient(properties)
        } catch {
            throw refusal(error, of: "producer", properties)
        }
    }

    /// Why librdkafka refuses a client. With TLS it reads files, which may be fixed or appear in a moment: then
    /// `outside`, unless it would refuse the other properties as well.
    static func refusal(_ error: KafkaError, of client: String, _ properties: ClientProperties) -> ProgramError {
        guard let plain = properties.withoutTLS else { return .refused(client, error) }
        let problem = client == "consumer" ? GroupConsumer.problem(plain) : OutputProducer.problem(plain)
        if let problem { return .refused(client, problem) }
        let what = "the \(client) cannot use TLS: correct ssl.* under kafka, or the files that they name"
        return .outside(ProbeReason("tls", "\(what) (\(error.message))"))
    }

    /// A batch that brokers refuse for its size fails a whole transaction, or a producer is replaced. So no batch is
    /// larger than the topics accept, as far as brokers tell.
    private static func limitBatches(_ settings: inout EngineSettings, _ client: ClusterClient) {
        let limits = client.setting(
            "max.message.bytes",
            ofTopics: [settings.output, settings.deadLetters] + [settings.changelog].compactMap(\.self),
            milliseconds: limitPatience)
        guard let limit = limits.values.compactMap({ Int($0) }).min() else { return }
        let configured = settings.producer["batch.size"].flatMap { Int($0) } ?? 1_000_000
        settings.producer["batch.size"] = "\(min(limit, configured))"
    }

    /// Throws why brokers have not answered a command; returns if they answer now.
    static func reach(_ properties: ClientProperties) throws(ProgramError) {
        try reach(client(properties), properties["bootstrap.servers"] ?? "")
    }

    /// `client` must not outlive the attempt: it would back off longer and longer. Distant brokers need some seconds
    /// for a login; a missing broker is noticed at once.
    private static func reach(_ client: ClusterClient, _ servers: String) throws(ProgramError) {
        var failure = client.reach(milliseconds: reachPatience)
        for _ in 1..<reachTimes where failure?.mayBeSlowness == true {
            failure = client.reach(milliseconds: reachPatience)
        }
        guard let error = failure else { return }
        let reason =
            if error.isLogin {
                ProbeReason(
                    "authentication",
                    "the brokers at \(servers) reject the login: correct sasl.* under kafka, or the brokers (\(error))")
            } else if error.isTLS {
                ProbeReason(
                    "tls",
                    """
                    cannot connect securely to \(servers): correct ssl.* under kafka, or the brokers (\(error))
                    """)
            } else {
                ProbeReason(
                    "no-broker",
                    """
                    no broker answers at \(servers): are they up, are kafka.bootstrap.servers and \
                    kafka.security.protocol right, and do they want a client certificate (ssl.*)? (\(error))
                    """)
            }
        throw .outside(reason)
    }

    private static func find(
        _ name: String, _ client: ClusterClient, setting: String
    ) throws(ProgramError) -> TopicPartitions {
        do throws(KafkaError) {
            return TopicPartitions(name: name, count: try client.partitionCount(of: name, milliseconds: patience))
        } catch {
            guard error.isUnknownTopic else { throw .outside(.topic(name, error)) }
            let detail = "the brokers do not know the topic \(name): create it, or correct its name under \(setting)"
            throw .outside(ProbeReason("unknown-topic", detail))
        }
    }
}

/// Waits at the start for what is outside this process: brokers, their permissions, their topics. Reports the reason to
/// readiness, and to the log when it changes and from time to time.
struct StartWait {
    private static let toldEvery = Duration.seconds(5)
    /// Between two attempts. Short for brokers, which may be back soon. Long for what people have to fix: that takes
    /// longer, and too many wrong passwords may lock an account.
    private static let shortPause = Duration.milliseconds(500)
    private static let longPause = Duration.seconds(5)

    let log: Log
    let handle: EngineHandle

    /// Retries until `body` succeeds; throws problems that nothing outside this process can fix.
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
                    "the service cannot start yet, waiting",
                    [.reason(problem.reason), .attempt(attempt), .error(text: problem.detail)])
            }
            attempt += 1
            let pause = ["no-broker", "starting"].contains(problem.reason) ? Self.shortPause : Self.longPause
            usleep(UInt32(pause / .microseconds(1)))
        }
    }
}

extension ProgramError {
    static func refused(_ client: String, _ error: KafkaError) -> ProgramError {
        .unreadableConfiguration("librdkafka rejects the configuration of the \(client): \(error.message)")
    }
}

extension ClientProperties {
    /// These properties without TLS; nil if they do not use it.
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

    /// Why nothing is known about a topic that may exist.
    static func topic(_ name: String, _ error: KafkaError) -> ProbeReason {
        let detail = "cannot get the metadata of the topic \(name): \(error)"
        return error.isForbidden ? ProbeReason("not-authorized", detail) : .starting(detail)
    }
}
