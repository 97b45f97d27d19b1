import Glibc
import Kafka
import Media
import Push
import Stores
import Synchronization
import Telemetry
import Worker

/// A running service, put together from a configuration.
final class Service: Sendable {
    let log: Log
    let metrics: ServiceMetrics
    private let worker: Worker
    private let watcher: FileWatcher
    /// Where contacts are those of a topic.
    private let contacts: ContactFollower?
    /// Where counts are part of transactions.
    private let changelog: Changelog?
    private let admin: AdminServer
    /// Where the configuration says `embedded`.
    private let broker: MockCluster?

    /// Throws what keeps it from starting. `notifications` are content, for the page of a demo.
    init(
        _ configuration: Configuration, log: Log, notifications: (@Sendable () -> [UInt8])? = nil
    ) async throws(ProgramError) {
        self.log = log
        Startup.raiseDescriptorLimit()
        var settings = WorkerSettings(configuration)
        broker = configuration.kafka.isEmbedded ? try Self.startBroker() : nil
        if let broker {
            settings.consumer["bootstrap.servers"] = broker.bootstrapServers
            settings.producer["bootstrap.servers"] = broker.bootstrapServers
            log.info("the embedded broker is up", [.broker(broker.bootstrapServers)])
        }
        let cluster = try Startup.check(
            settings, contacts: configuration.contactTopic, changelog: configuration.changelogTopic, log)
        try Startup.limitBatches(&settings, changelog: configuration.changelogTopic)
        let state = try Self.ownState(configuration)
        contacts = try Self.contacts(configuration, settings, state, cluster: cluster, log)
        let registry = MetricRegistry(shards: Worker.shards(lanes: settings.lanes))
        let reloads = registry.addReloads()
        let watcher = FileWatcher { path, outcome in Self.tell(path, outcome, reloads, log) }
        let sources = ContactSources(statePath: configuration.state.path, mayCreate: true, watcher: watcher)
        let resources = StageResources(
            log: { Self.tell($0, $1, log) }, watcher: watcher, contacts: sources.open,
            media: { settings in try MediaLibrary(settings) { Self.tell($0, $1, log) } })
        let links = try await configuration.links(resources)
        metrics = ServiceMetrics.make(registry, links)
        var chainSettings = Chain.Settings(configuration.delivery)
        chainSettings.measuresStages = true
        let chain = Chain(links, settings: chainSettings, observer: AbandonedStages(metrics)) {
            severity, stage, source, message in
            log.log(LogLevel(severity), "a stage says", [.stage(stage), .source("\(source)"), .error(text: message)])
        }
        changelog = try Self.changelog(configuration, settings, state, cluster: cluster, metrics, log)
        let checkpoint: any Checkpoint =
            if let changelog {
                GroupCheckpoint(counts: changelog.counts, log: log)
            } else {
                try Self.checkpoint(configuration, settings, state, cluster: cluster, metrics, log)
            }
        do {
            worker = try Worker(
                settings, chain: chain, checkpoint: checkpoint, contacts: contacts, changelog: changelog,
                metrics: metrics, log: log)
        } catch {
            throw .internalFailure("the service cannot start: \(error)")
        }
        admin = try AdminPages(
            configuration, registry: registry, log: log, worker: worker, notifications: notifications
        ).open()
        self.watcher = watcher
        watcher.start()
    }

    /// The state file, where this process has to be the only one to change it.
    private static func ownState(_ configuration: Configuration) throws(ProgramError) -> StateFile? {
        guard configuration.countsBadges || configuration.contactTopic != nil else { return nil }
        do throws(StoreError) {
            return try StateFile(path: configuration.state.path, access: .alone)
        } catch {
            throw unusable(error)
        }
    }

    private static func contacts(
        _ configuration: Configuration, _ settings: WorkerSettings, _ state: StateFile?, cluster: String, _ log: Log
    ) throws(ProgramError) -> ContactFollower? {
        guard let topic = configuration.contactTopic, let state else { return nil }
        do throws(TelemetryError) {
            return try ContactFollower(
                settings.consumer, topic: topic.name, of: cluster, isCoPartitioned: topic.isCoPartitioned, into: state,
                log: log)
        } catch {
            throw .internalFailure("contacts cannot be followed: \(error)")
        }
    }

    private static func changelog(
        _ configuration: Configuration, _ settings: WorkerSettings, _ state: StateFile?, cluster: String,
        _ metrics: ServiceMetrics, _ log: Log
    ) throws(ProgramError) -> Changelog? {
        guard let topic = configuration.changelogTopic, let state else { return nil }
        do {
            return try Changelog(
                settings.consumer, topic: topic, of: cluster, into: state, metrics: metrics, log: log)
        } catch let error as StoreError {
            throw unusable(error)
        } catch {
            throw .internalFailure("the changelog of badge counts cannot be kept: \(error)")
        }
    }

    private static func checkpoint(
        _ configuration: Configuration, _ settings: WorkerSettings, _ state: StateFile?, cluster: String,
        _ metrics: ServiceMetrics, _ log: Log
    ) throws(ProgramError) -> any Checkpoint {
        guard configuration.countsBadges, let state else { return GroupCheckpoint(log: log) }
        do throws(StoreError) {
            let owner = CheckpointFile.Owner(cluster: cluster, group: settings.consumer["group.id"] ?? "")
            return try FileCheckpoint(state, owner: owner, stalePartitions: metrics.stalePartitions, log: log)
        } catch {
            throw unusable(error)
        }
    }

    /// What may pass by itself is worth another start.
    private static func unusable(_ error: StoreError) -> ProgramError {
        let what = "the state file cannot be used (state.path): \(error)"
        return switch error {
        case .unopened, .newerSchema, .unreadableLine: .unreadableConfiguration(what)
        case .inUse, .sqlite, .damaged: .internalFailure(what)
        }
    }

    private static func startBroker() throws(ProgramError) -> MockCluster {
        do throws(KafkaError) {
            return try MockCluster()
        } catch {
            throw .internalFailure("\(error)")
        }
    }

    /// The embedded broker's address.
    var embeddedServers: String? { broker?.bootstrapServers }

    /// Where the admin endpoint listens.
    var adminAddress: String { "\(admin.address)" }

    var isReady: Bool { worker.status.reasons.isEmpty }

    func terminate() { worker.terminate() }

    /// Runs until a signal, or `terminate`, has ended it: the process is to end next. At SIGHUP files are read again, and
    /// the rest is `reloading`'s.
    func run(_ signals: AsyncStream<Int32>, reloading: @escaping @Sendable () -> Void = {}) async -> ExitCode {
        Self.last.withLock { $0 = self }
        let ended = Task.detached { [worker] in worker.wait() }
        Task { [worker, watcher, log] in
            for await number in signals {
                if number == SIGHUP {
                    log.info("reloading files")
                    // A file may be on a disk that does not answer.
                    watcher.reloadAll(after: reloading)
                } else {
                    worker.terminate()
                }
            }
        }
        await ended.value
        let code: ExitCode
        if let failure = worker.status.failure {
            log.error("the service could not go on", [.error(failure)])
            code = .internalFailure
        } else {
            log.info("ended in order")
            code = .success
        }
        endProcess(within: Self.endPatience, code)
        contacts?.stop()
        changelog?.stop()
        admin.close()
        return code
    }

    /// Ended with its process: librdkafka's clients go only when nobody has a record of theirs and no name server is being
    /// asked, and a stage that hangs may keep both.
    private static let last = Mutex<Service?>(nil)

    /// How long the rest has to end, of which no message depends any more.
    private static let endPatience = Duration.seconds(3)

    /// What hangs, such as a question to brokers that are away, keeps no process.
    private func endProcess(within limit: Duration, _ code: ExitCode) {
        _ = try? Thread(named: "end") { [log] in
            usleep(UInt32(limit / .microseconds(1)))
            log.warning("ending without what hangs")
            usleep(100_000)
            _exit(code.rawValue)
        }
    }

    private static func tell(_ path: String, _ outcome: ReloadOutcome, _ reloads: ReloadCounts, _ log: Log) {
        switch outcome {
        case .unchanged: break
        case .reloaded:
            reloads.add(path, succeeded: true)
            log.info("a file was read again", [.path(path)])
        case .failed(let reason):
            reloads.add(path, succeeded: false)
            log.error("a file cannot be read again: what was read before stays", [.path(path), .error(text: reason)])
        }
    }

    private static func tell(_ severity: StageResources.Severity, _ message: String, _ log: Log) {
        log.log(LogLevel(severity), "a stage says", [.error(text: message)])
    }
}

extension LogLevel {
    init(_ severity: StageResources.Severity) {
        self =
            switch severity {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }
}
