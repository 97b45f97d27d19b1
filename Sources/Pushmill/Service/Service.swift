import Glibc
import PushmillEngine
import PushmillKafka
import PushmillMedia
import PushmillStages
import PushmillStores
import PushmillTelemetry
import Synchronization

/// A running service, put together from a configuration.
final class Service: Sendable {
    private let log: Log
    private let engine: ShardThreads
    /// Polls files while this reference exists.
    private let watcher: FileWatcher
    /// The name of the configuration in the metrics of reloaded files.
    private static let configurationTarget = "configuration"
    /// Set if contacts come from a topic.
    private let contacts: ContactFollower?
    /// Locks the state. Set if this process keeps counts there, or a copy of a topic's contacts.
    private let state: StateFile?
    private let admin: AdminServer
    /// Set if the configuration says `embedded`.
    private let broker: MockCluster?

    /// Throws what prevents the start; waits for brokers that are unavailable. A signal ends it and SIGHUP reads files
    /// again, even while it waits. `reloading` does the rest of a SIGHUP, and returns false if it fails.
    /// `notifications` are content, for the page of a demo.
    init(
        _ configuration: Configuration, log: Log, signals: Signals? = nil,
        reloading: @escaping @Sendable () -> Bool = { true }, notifications: (@Sendable () -> [UInt8])? = nil
    ) async throws(ProgramError) {
        self.log = log
        Startup.raiseDescriptorLimit()
        broker =
            configuration.kafka.isEmbedded
            ? try explaining("cannot start the embedded broker") { try MockCluster() } : nil
        let embedded = broker?.bootstrapServers
        var settings = try EngineSettings(configuration, embedded: embedded)
        if let embedded { log.info("the embedded broker is up", [.broker(embedded)]) }
        let registry = MetricRegistry()
        let reloads = ReloadCounts()
        let watcher = FileWatcher { Self.tell($0, stage: $1, $2, reloads, log) }
        self.watcher = watcher
        let handle = EngineHandle(cores: settings.cores)
        Self.serve(signals, handle, log) {
            // On the watcher's thread, because a file may be on a disk that does not answer.
            watcher.reloadAll { reloads.add(Self.configurationTarget, succeeded: reloading()) }
        }
        registry.addReloads(reloads) { watcher.paths + [Self.configurationTarget] }
        var resources = StageResources(
            log: { log.log(LogLevel($0), "message from a stage", [.stage($1), .error(text: $2)]) }, watcher: watcher,
            contacts: { try configuration.state.contacts(of: $0, creating: true, watcher) },
            media: { settings, log in try MediaLibrary(settings, log: log) })
        // Only a demo has notifications to show.
        let refusesSamples = notifications == nil && SampleSecrets.areRefused(configuration)
        resources.refusesSamples = refusesSamples
        // Before a stage reads the state: a copy may have to be set aside.
        let copy = configuration.contactTopic == nil ? nil : try Self.state(configuration, .alone, log)
        // A full disk is worth another start, but a stage could only report it as a wrong setting.
        if copy == nil, !configuration.stateIsCopy { _ = try Self.state(configuration, .shared, log) }
        let links = try await configuration.links(resources)
        let metrics = ServiceMetrics.make(registry, links, input: settings.input)
        registry.addMedia(links.compactMap { ($0.stage as? AttachmentStage)?.source as? MediaLibrary })
        let rules = Chain.Settings(configuration.delivery)
        let chain = Chain(links, settings: rules, observer: AbandonedStages(metrics)) {
            severity, stage, source, message in
            log.log(
                LogLevel(severity), "message from a stage",
                [.stage(stage), .source("\(source)"), .error(text: message)])
        }
        if let name = chain.countingStage {
            if let problem = configuration.countingProblems(of: name).first {
                throw .unreadableConfiguration("\(problem.path.joined(separator: ".")): \(problem.message)")
            }
            settings.changelog = configuration.topics.badgeChangelog
        }
        if let broker { try Self.createTopics(settings, at: broker) }
        state = copy == nil && chain.hasCountingStage ? try Self.state(configuration, .alone, log) : copy
        admin = try AdminPages(
            configuration: configuration, registry: registry, log: log, engine: handle, watcher: watcher,
            refusesSamples: refusesSamples, notifications: notifications
        ).open()
        watcher.start()
        let wait = StartWait(log: log, handle: handle)
        let cluster = try wait.run { () throws(ProgramError) in
            try settings.renewClients(configuration, embedded: embedded)
            return try Startup.check(&settings, contacts: configuration.contactTopic, log)
        }
        contacts = try Self.contacts(configuration, settings, state, cluster: cluster, log)
        registry.measure(.contactsFailing) { [contacts] in [.init((contacts?.failing ?? .zero) / .seconds(1))] }
        let counts = try wait.run { [settings] () throws(ProgramError) in
            try Self.counts(configuration, settings, cluster: cluster)
        }
        let environment = EngineEnvironment(
            chain: chain, counts: counts, contacts: contacts, metrics: metrics, log: log)
        engine = try explaining("the service cannot start") { [settings] in try ShardThreads(settings, environment) }
        handle.started(engine)
    }

    /// On a thread of its own, for the life of the process: stages may block every thread that runs tasks.
    private static func serve(
        _ signals: Signals?, _ handle: EngineHandle, _ log: Log, reload: @escaping @Sendable () -> Void
    ) {
        guard let signals else { return }
        _ = try? Thread(named: "signals") {
            while let number = signals.next() {
                if number == SIGHUP {
                    log.info("reloading files")
                    reload()
                } else if let engine = handle.engine {
                    engine.terminate()
                } else {
                    // Nothing has begun that must end in order, and the start may hang.
                    log.info("stopped before it started")
                    exitSoon()
                }
            }
        }
    }

    /// The state file; `.alone` if no other process may use what is beside it.
    private static func state(
        _ configuration: Configuration, _ access: StateFile.Access, _ log: Log
    ) throws(ProgramError) -> StateFile {
        do throws(StoreError) {
            try configuration.state.makeFolder()
            let state = try StateFile(
                path: configuration.state.file, access: access, isCopy: configuration.stateIsCopy,
                ofTopic: configuration.contactTopic != nil)
            if !configuration.stateIsCopy { try state.check() }
            if let (path, reason) = state.setAside {
                log.warning(
                    "the state file was set aside: restoring its contents from their topics",
                    [.path(path), .error(text: reason)])
            }
            return state
        } catch {
            throw unusable(error)
        }
    }

    private static func contacts(
        _ configuration: Configuration, _ settings: EngineSettings, _ state: StateFile?, cluster: String, _ log: Log
    ) throws(ProgramError) -> ContactFollower? {
        guard let topic = configuration.contactTopic, let state else { return nil }
        return try explaining("cannot follow the contacts topic") {
            try ContactFollower(
                settings.consumer, topic: topic.name, of: cluster, isCoPartitioned: topic.isCoPartitioned, into: state,
                log: log)
        }
    }

    /// The folder of the files with counts; nil if nothing counts.
    private static func counts(
        _ configuration: Configuration, _ settings: EngineSettings, cluster: String
    ) throws(ProgramError) -> CountFolder? {
        guard let changelog = settings.changelog else { return nil }
        do throws(StoreError) {
            return try CountFolder(path: configuration.state.counts, cluster: cluster, changelog: changelog)
        } catch {
            throw unusable(error)
        }
    }

    /// A problem that may pass by itself, such as a full disk, is worth another start; a wrong path is not.
    static func unusable(_ error: StoreError) -> ProgramError {
        let what = "cannot use the state (state.path): \(error)"
        return switch error {
        case .unopened(_, ENOENT), .unopened(_, ENOTDIR), .unopened(_, EISDIR), .unopened(_, EACCES),
            .unopened(_, EPERM), .unreadableLine:
            .unreadableConfiguration(what)
        // Another start would not help.
        case _ where error.isDamage: .unreadableConfiguration(what)
        case .unopened, .inUse, .sqlite, .damaged, .ofAnother, .newerSchema: .internalFailure(what)
        }
    }

    /// The changelog has as many partitions as the input.
    private static func createTopics(_ settings: EngineSettings, at broker: MockCluster) throws(ProgramError) {
        try explaining("cannot start the embedded broker") {
            for name in settings.input + [settings.changelog].compactMap(\.self) {
                try broker.createTopic(name, partitions: 4)
            }
        }
    }

    var embeddedServers: String? { broker?.bootstrapServers }

    var adminAddress: String { "\(admin.address)" }

    var isReady: Bool { engine.reasons.isEmpty }

    func terminate() { engine.terminate() }

    /// Runs until a signal or `terminate` ends it. The process must end next.
    func run() async -> ExitCode {
        Self.last.withLock { $0 = self }
        // If the system has no thread left, this one waits.
        do { try await onOwnThread("engine") { self.wait() } } catch { wait() }
        contacts?.stop()
        admin.close()
        return .success
    }

    /// From then on the process ends even if stages block the threads that tasks need.
    private func wait() {
        engine.wait()
        log.info("shut down cleanly")
        endProcess()
    }

    /// Kept until the process ends: librdkafka destroys its clients only when nobody holds a record of theirs and no
    /// name server is being asked. A stage that hangs may prevent that.
    private static let last = Mutex<Service?>(nil)

    /// How long the rest may take to end. No message depends on it.
    private static let endPatience = Duration.seconds(3)

    /// Ends the process even if something hangs, such as a request to unavailable brokers.
    private func endProcess() {
        _ = try? Thread(named: "end") { [log] in
            usleep(UInt32(Self.endPatience / .microseconds(1)))
            log.warning("exiting without background work that hangs")
            Self.exitSoon()
        }
    }

    /// Ends the process when the log's thread has had time for the last line.
    private static func exitSoon() {
        usleep(100_000)
        _exit(ExitCode.success.rawValue)
    }

    private static func tell(
        _ path: String, stage: String?, _ outcome: ReloadOutcome, _ reloads: ReloadCounts, _ log: Log
    ) {
        let file = [LogField.path(path)] + (stage.map { [.stage($0)] } ?? [])
        switch outcome {
        case .unchanged: break
        case .reloaded:
            reloads.add(path, succeeded: true)
            log.info("reloaded a file", file)
        case .failed(let reason):
            reloads.add(path, succeeded: false)
            log.error("cannot reload a file: its previous contents stay in use", file + [.error(text: reason)])
        }
    }
}

extension LogLevel {
    /// The names of severities are those of levels.
    init(_ severity: StageResources.Severity) { self = LogLevel(name: "\(severity)") ?? .error }
}

/// Runs blocking work on its own thread. Tasks have only as many threads as there are processors: with one processor,
/// no signal would get through while the work blocks.
func onOwnThread<Result: Sendable>(
    _ name: String, _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try Thread(named: name) { continuation.resume(with: Swift.Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
