import Glibc
import PushmillDemo
import PushmillKafka
import PushmillStages
import PushmillTelemetry

extension Command {
    static let demo = Command(
        name: "demo", summary: "Shows the whole service at work on an embedded broker",
        details: """
            Sends sample events, prints each as it went in and as it came out, and counts
            the outcomes; stops after a number of events, after a time, or at Ctrl-C. With
            --bootstrap it sends them to a service that runs elsewhere, such as one with
            deploy/sample/pushmill.yaml, and shows its results.
            """,
        options: [.events, .rate, .time, .quiet, .bootstrap]
    ) { invocation in
        let plan = try DemoPlan(invocation)
        let console = invocation.console
        let board = DemoBoard()
        _ = Signals.take([SIGTERM, SIGINT])
        if let servers = invocation.text(.bootstrap) {
            try Startup.reach(ClientProperties([("bootstrap.servers", servers)]))
            try await feed(plan, servers, board, console)
            return .success
        }
        let folder = try explaining("cannot write the demo's files") {
            try ScratchFolder("pushmill-demo", files: DemoFiles.all)
        }
        defer { withExtendedLifetime(folder) {} }
        let configuration = try invocation.demoConfiguration(folder.path)
        let service = try await Service(
            configuration, log: Log(level: configuration.log.level), notifications: board.json)
        guard let servers = service.embeddedServers else {
            throw ProgramError.internalFailure("the demo's broker is missing")
        }
        console.output(
            """
            The page is at http://\(service.adminAddress)/ and the embedded broker at \(servers).
            Forming the consumer group takes three seconds.
            """)
        let running = Task { await service.run() }
        while !service.isReady, !Signals.isEndWanted { try? await Task.sleep(for: .milliseconds(20)) }
        try await feed(plan, servers, board, console)
        console.output(hints(service.adminAddress))
        service.terminate()
        return await running.value
    }

    private static func feed(
        _ plan: DemoPlan, _ servers: String, _ board: DemoBoard, _ console: Console
    ) async throws {
        do {
            let summary = try await onOwnThread("demo") {
                try plan.run(
                    servers: servers, board: board, until: { Signals.isEndWanted || Console.hasFailed },
                    show: console.output)
            }
            console.output(summary.text)
        } catch {
            throw ProgramError.internalFailure("the demo failed: \(error)")
        }
    }

    private static func hints(_ address: String) -> String {
        """

        Try next:
          pushmill demo --for 10m            time to look at http://\(address)/
          pushmill broker --topic push.events:4 --topic push.notifications:4 --topic push.dead-letters:1 --topic push.badges:4
          PUSHMILL_KAFKA_BOOTSTRAP_SERVERS=ADDRESS pushmill run --config deploy/sample/pushmill.yaml
          pushmill demo --bootstrap ADDRESS  feeds it; ADDRESS is what the broker prints
        """
    }
}

extension Invocation {
    /// The sample service with an embedded broker, and with a stage that hangs for some events.
    fileprivate func demoConfiguration(_ folder: String) throws(ProgramError) -> Configuration {
        let text = """
            kafka: { bootstrap.servers: embedded, consumer: { group.id: demo, fetch.wait.max.ms: 50 } }
            topics: { input: [push.events], output: push.notifications, dead-letter: push.dead-letters }
            delivery: { deadline: 2s }
            state: { path: state }
            \(DemoFiles.stages)  - preview

            """
        // Variables for a service in the same shell must not change the demo's broker, topics, state and stages.
        let environment = surroundings.environment.filter { variable in
            !["KAFKA", "TOPICS", "STATE", "STAGES"].contains { variable.key.hasPrefix("PUSHMILL_\($0)_") }
        }
        let source = ConfigurationSource(
            registry: StageRegistry(adding: [DemoPreview.entry]), environment: environment)
        return try source.read(Array(text.utf8), name: "demo", folder: folder)
    }
}

extension DemoPlan {
    /// 100 events, unless a number or a time is given.
    fileprivate init(_ invocation: Invocation) throws(ProgramError) {
        self.init()
        events = try invocation.value(.events, .integer(1...1_000_000_000))
        time = try invocation.value(.time, .duration(.seconds(1) ... .seconds(86_400 * 365)))
        if let rate = try invocation.value(.rate, .integer(1...100_000)) { self.rate = rate }
        if events == nil, time == nil { events = 100 }
        isQuiet = invocation.flag(.quiet)
    }
}

extension Option {
    fileprivate static let events = Option.value(
        "events", "N", "number of events; default: 100, or no limit with --for")
    fileprivate static let rate = Option.value("rate", "N", "events per second; default: 10")
    fileprivate static let time = Option.value("for", "TIME", "how long to send events, such as 10m")
    fileprivate static let quiet = Option.flag("quiet", "prints only the summary")
    fileprivate static let bootstrap = Option.value(
        "bootstrap", "HOST:PORT", "a broker to send events to instead of an embedded one")
}
