import Glibc
import PushmillKafka
import Synchronization
import PushmillTestSupport
import Testing

/// Brokers with topics of random names, a feeder and readers at both ends, and the services between them.
final class Scene: Sendable {
    let brokers: Brokers
    let feeder: Feeder
    let outputs: TopicReader<Arrival>
    let deadLetters: TopicReader<Letter>
    let input: String
    let output: String
    let deadLetterTopic: String
    let group: String
    let partitions: Int
    private let outputPartitions: Int
    private let folder: TemporaryFolder
    private let services = Mutex<[ServiceProcess]>([])

    /// Runs a test on a new scene. A failure includes the last lines of the services. `brokersGoAway`: the test takes
    /// the brokers down for a while.
    static func play(
        partitions: Int = 4, outputPartitions: Int? = nil, outputSettings: [(name: String, value: String)] = [],
        brokersGoAway: Bool = false, _ body: @Sendable (Scene) async throws -> Void
    ) async throws {
        let scene = try await elsewhere {
            try Scene(
                partitions: partitions, outputPartitions: outputPartitions ?? partitions,
                outputSettings: outputSettings, brokersGoAway: brokersGoAway)
        }
        do {
            try await body(scene)
        } catch {
            Issue.record("\(error)\n\(scene.transcript)")
        }
        try await scene.clear()
    }

    private init(
        partitions: Int, outputPartitions: Int, outputSettings: [(name: String, value: String)], brokersGoAway: Bool
    ) throws {
        let name = "test-\(UInt64.random(in: 0 ... .max))"
        brokers = try Brokers(goAway: brokersGoAway)
        self.partitions = partitions
        (input, output, deadLetterTopic, group) = ("\(name)-in", "\(name)-out", "\(name)-dead", name)
        try brokers.createTopic(input, partitions: partitions)
        try brokers.createTopic(output, partitions: outputPartitions, settings: outputSettings)
        try brokers.createTopic(deadLetterTopic, partitions: 1)
        try brokers.createTopic("\(output)-badges", partitions: partitions, settings: [("cleanup.policy", "compact")])
        feeder = try Feeder(brokers, topic: input)
        self.outputPartitions = outputPartitions
        outputs = try TopicReader(brokers, topic: output, partitions: outputPartitions) { Arrival($0) }
        deadLetters = try TopicReader(brokers, topic: deadLetterTopic, partitions: 1) { Letter($0) }
        folder = try TemporaryFolder()
    }

    /// Starts a service with a short session, and does not wait until it has joined.
    func start(_ configuration: ServiceConfiguration = ServiceConfiguration()) throws -> ServiceProcess {
        var configuration = configuration
        configuration.consumer = Brokers.session + configuration.consumer
        return try startAsIs(configuration)
    }

    /// Starts a service with its own defaults for all that the configuration leaves out.
    func startAsIs(_ configuration: ServiceConfiguration) throws -> ServiceProcess {
        try services.withLock { services in
            let file = try folder.write(text(of: configuration), to: "service-\(services.count).yaml")
            if let slash = configuration.state.lastIndex(of: "/"), !configuration.state.hasPrefix("/") {
                mkdir("\(folder.path)/\(configuration.state[..<slash])", 0o700)
            }
            let service = try ServiceProcess(["run", "--config", file], environment: configuration.environment)
            services.append(service)
            return service
        }
    }

    /// Changes the configuration file of the only service.
    func rewrite(_ configuration: ServiceConfiguration) throws {
        var configuration = configuration
        configuration.consumer = Brokers.session + configuration.consumer
        try rewrite(text(of: configuration))
    }

    func rewrite(_ text: String) throws { try folder.write(text, to: "service-0.yaml") }

    /// Replaces the configuration file of the only service by a pipe without a writer.
    func replaceConfigurationByPipe() throws {
        let file = "\(folder.path)/service-0.yaml"
        try #require(unlink(file) == 0 && mkfifo(file, 0o600) == 0)
    }

    private func text(of configuration: ServiceConfiguration) -> String {
        configuration.text(
            bootstrapServers: brokers.bootstrapServers, group: group, input: input, output: output,
            deadLetters: deadLetterTopic)
    }

    var inputPartitions: [TopicPartition] { (0..<Int32(partitions)).map { TopicPartition(input, $0) } }

    private func clear() async throws {
        for service in services.withLock({ $0 }) {
            try await service.clear()
            try keepLog(of: service)
        }
        stopReading()
    }

    /// From here on only services fetch.
    func stopReading() {
        outputs.stop()
        deadLetters.stop()
    }

    /// A reader of the outputs from their beginning, to be stopped by the test.
    func readOutputs() throws -> TopicReader<Arrival> {
        try TopicReader(brokers, topic: output, partitions: outputPartitions) { Arrival($0) }
    }

    /// A reader of whole outputs, to be stopped by the test.
    func readValues() throws -> TopicReader<OutputValue> {
        try TopicReader(brokers, topic: output, partitions: outputPartitions) { OutputValue($0) }
    }

    /// Runs another command with the configuration of the service that was started last; returns what it printed.
    func run(_ command: [String], expecting code: Int32 = 0) async throws -> [Substring] {
        let file = "\(folder.path)/service-\(services.withLock { $0.count } - 1).yaml"
        let process = try ServiceProcess(command + ["--config", file])
        try await process.expectEnd(.exited(code))
        try await process.clear()
        return process.lines
    }

    /// Keeps the service's lines in the folder that `PUSHMILL_TEST_LOGS` names, if it is set.
    private func keepLog(of service: ServiceProcess) throws {
        guard let folder = getenv("PUSHMILL_TEST_LOGS") else { return }
        guard let file = fopen("\(String(cString: folder))/\(service.identifier).log", "w") else {
            throw SystemFailure(errno)
        }
        fputs(service.lines.joined(separator: "\n") + "\n", file)
        fclose(file)
    }

    private var transcript: String {
        services.withLock { $0 }.map { service in
            "service \(service.identifier):\n" + service.lines.suffix(40).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
