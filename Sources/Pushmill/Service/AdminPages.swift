import Glibc
import PushmillEngine
import PushmillStages
import PushmillTelemetry

/// The admin endpoint of a service.
struct AdminPages {
    /// A shard that takes longer for one turn is stuck.
    private static let patience = Duration.seconds(10)

    let configuration: Configuration
    let registry: MetricRegistry
    let log: Log
    let engine: EngineHandle
    let watcher: FileWatcher
    let refusesSamples: Bool
    /// The latest notifications as JSON. They are content, so only a demo shows them.
    let notifications: (@Sendable () -> [UInt8])?

    func open() throws(ProgramError) -> AdminServer {
        registry.addProcess(log: log, version: Version.current)
        registry.measure(.ready) { [ready] in [.init(ready().isEmpty ? 1 : 0)] }
        registry.add(engine)
        let routes =
            [
                .metrics(registry), .probe("/healthz", alive), .probe("/readyz", ready),
                .configuration(effective), .logs(log),
            ] + AdminRoute.logLevel(log) + AdminRoute.page(notifications: notifications)
        let settings = configuration.admin
        let token = try token(settings.tokenFile)
        let router = Router(routes, token: token?.value)
        do throws(TelemetryError) {
            let server = try listen(router)
            log.info("the admin endpoint is up", [.listen("\(server.address)")])
            return server
        } catch {
            throw Self.unusable(error, at: settings.listen)
        }
    }

    /// The port may become free, and resources that the machine lacks may come back: these are worth another start.
    static func unusable(_ error: TelemetryError, at address: ListenAddress) -> ProgramError {
        let what = "the admin endpoint cannot listen on \(address): \(error)"
        return switch error {
        case .addressInUse, .noPipe, .noThread, .cannotListen(_, EMFILE), .cannotListen(_, ENFILE),
            .cannotListen(_, ENOBUFS), .cannotListen(_, ENOMEM):
            .internalFailure(what)
        case .cannotListen, .invalidListenAddress, .noAnswer: .unreadableConfiguration(what)
        }
    }

    private func listen(_ router: Router) throws(TelemetryError) -> AdminServer {
        let address = configuration.admin.listen
        do throws(TelemetryError) {
            return try AdminServer(address, router)
        } catch {
            // A demo takes another port rather than none.
            guard case .addressInUse = error, notifications != nil else { throw error }
            return try AdminServer(ListenAddress(host: address.host, port: 0), router)
        }
    }

    /// Read again when the file changes, so a leaked token is replaced without a restart.
    private func token(_ path: String?) throws(ProgramError) -> ReloadableFile<AccessToken>? {
        guard let path else { return nil }
        return try explaining("admin.token-file", as: ProgramError.unreadableConfiguration) {
            let file = try ReloadableFile<AccessToken>(path: path) { [refusesSamples] path, _ in
                let words = try SecretText.read(path).split(whereSeparator: \.isWhitespace)
                guard words.count == 1, let token = AccessToken(String(words[0])) else {
                    throw SecretText.Unusable("\(path) must contain one token and nothing else")
                }
                guard !refusesSamples || !SampleSecrets.tokens.contains(String(words[0])) else {
                    throw SecretText.Unusable(
                        "\(path) contains a token from an example: create one with 'openssl rand -hex 32'")
                }
                return token
            }
            watcher.add(file)
            return file
        }
    }

    /// With the current level of the log; everything else stays the same for the life of the process.
    private var effective: @Sendable () -> String {
        let text = YAMLText.render(configuration.effective)
        return { [log, level = configuration.log.level] in
            text.replacing(Self.lines(of: level), with: Self.lines(of: log.level))
        }
    }

    private static func lines(of level: LogLevel) -> String { "\nlog:\n  level: \(level.name)\n" }

    private var alive: Probe {
        { [engine] in
            let busy = engine.engine?.longestTurn ?? .zero
            guard busy > Self.patience else { return [] }
            return [ProbeReason("shard-stuck", "a stage has blocked a shard's thread for \(busy / .seconds(1)) s")]
        }
    }

    private var ready: Probe { { [engine] in engine.reasons } }
}
