import Glibc
import Kafka
import Push
import Stores
import Telemetry
import Worker

/// A running service, put together from a configuration.
final class Service: Sendable {
    let log: Log
    let metrics: ServiceMetrics
    private let worker: Worker
    private let watcher: FileWatcher
    private let admin: AdminServer
    /// Where the configuration says `embedded`.
    private let broker: MockCluster?

    /// Throws what keeps it from starting.
    init(_ configuration: Configuration, log: Log) async throws(ProgramError) {
        self.log = log
        guard configuration.delivery.guarantee == .atLeastOnce else {
            throw .unreadableConfiguration("delivery.guarantee: 'run' keeps at-least-once only as yet")
        }
        var settings = WorkerSettings(configuration)
        broker = configuration.kafka.isEmbedded ? try Self.startBroker() : nil
        if let broker {
            settings.consumer["bootstrap.servers"] = broker.bootstrapServers
            settings.producer["bootstrap.servers"] = broker.bootstrapServers
            log.info("the embedded broker is up", [.broker(broker.bootstrapServers)])
        }
        let cluster = try Startup.check(settings, log)
        let watcher = FileWatcher { path, outcome in Self.tell(path, outcome, log) }
        let contacts = ContactSources(statePath: configuration.state.path, mayCreate: true, watcher: watcher)
        let resources = StageResources(
            log: { Self.tell($0, $1, log) }, watcher: watcher, contacts: contacts.open)
        let links = try await configuration.links(resources)
        let registry = MetricRegistry(shards: Worker.shards(lanes: settings.lanes))
        metrics = ServiceMetrics.make(registry, links)
        var chainSettings = Chain.Settings(configuration.delivery)
        chainSettings.measuresStages = true
        let chain = Chain(links, settings: chainSettings, observer: AbandonedStages(metrics)) {
            severity, stage, source, message in
            log.log(LogLevel(severity), "a stage says", [.stage(stage), .source("\(source)"), .error(text: message)])
        }
        let checkpoint = try Self.checkpoint(configuration, settings, cluster: cluster, metrics, log)
        do {
            worker = try Worker(settings, chain: chain, checkpoint: checkpoint, metrics: metrics, log: log)
        } catch {
            throw .internalFailure("the service cannot start: \(error)")
        }
        admin = try AdminPages(configuration, registry: registry, log: log, worker: worker).open()
        self.watcher = watcher
        watcher.start()
    }

    private static func checkpoint(
        _ configuration: Configuration, _ settings: WorkerSettings, cluster: String, _ metrics: ServiceMetrics,
        _ log: Log
    ) throws(ProgramError) -> any Checkpoint {
        guard configuration.countsBadges else { return GroupCheckpoint(log: log) }
        do throws(StoreError) {
            let state = try StateFile(path: configuration.state.path, access: .alone)
            let owner = CheckpointFile.Owner(cluster: cluster, group: settings.consumer["group.id"] ?? "")
            return try FileCheckpoint(state, owner: owner, stalePartitions: metrics.stalePartitions, log: log)
        } catch {
            throw .unreadableConfiguration("the state file cannot be used (state.path): \(error)")
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

    func terminate() { worker.terminate() }

    /// Runs until a signal, or `terminate`, has ended it.
    func run(_ signals: AsyncStream<Int32>) async -> ExitCode {
        let ended = Task.detached { [worker] in worker.wait() }
        let listening = Task { [worker, watcher, log] in
            for await number in signals {
                if number == SIGHUP {
                    log.info("reloading files")
                    watcher.reloadAll()
                } else {
                    worker.terminate()
                }
            }
        }
        await ended.value
        listening.cancel()
        admin.close()
        if let failure = worker.status.failure {
            log.error("the service could not go on", [.error(failure)])
            return .internalFailure
        }
        log.info("ended in order")
        return .success
    }

    private static func tell(_ path: String, _ outcome: ReloadOutcome, _ log: Log) {
        switch outcome {
        case .unchanged: break
        case .reloaded: log.info("a file was read again", [.path(path)])
        case .failed(let reason):
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
