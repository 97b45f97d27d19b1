import Glibc
import Kafka
import Push
import Synchronization
import Telemetry

extension Command {
    static let demo = Command(
        "demo", "Shows the whole service at work on an embedded broker",
        details: """
            Feeds sample events, prints each as it went in and as it came out, and sums up
            how they ended; stops after a number of events, or at Ctrl-C.
            """,
        options: [.events, .rate]
    ) { invocation throws(ProgramError) in
        var plan = DemoRun.Plan()
        if let events = try invocation.value(.events, .integer(1...1_000_000)) { plan.events = events }
        if let rate = try invocation.value(.rate, .integer(1...100_000)) { plan.rate = rate }
        let console = invocation.surroundings.console
        let configuration = try invocation.surroundings.configurationSource.read(
            Array(DemoRun.configuration.utf8), name: "demo", folder: "/")
        let signals = Signals.take([SIGTERM, SIGINT])
        let service = try await Service(configuration, log: Log(level: .warning))
        guard let servers = service.embeddedServers else {
            throw .usage("the demo brings its own broker: PUSHMILL_KAFKA_BOOTSTRAP_SERVERS must not be set")
        }
        console.output("An embedded broker is at \(servers); joining its group takes three seconds.")
        let isOver = DemoEnd()
        let running = Task { await service.run(isOver.passing(signals)) }
        let demo = DemoRun(plan, servers: servers, console: console)
        do {
            let summary = try await onOwnThread { try demo.run(until: { isOver.isReached }) }
            console.output(summary.text)
        } catch {
            throw .internalFailure("the demo cannot go on: \(error)")
        }
        service.terminate()
        return await running.value
    }
}

extension Option {
    fileprivate static let events = Option.value("events", "N", "how many events; 100 unless given")
    fileprivate static let rate = Option.value("rate", "N", "events a second; 20 unless given")
}

/// The user has seen enough.
private final class DemoEnd: Sendable {
    private let flag = Atomic<Bool>(false)

    var isReached: Bool { flag.load(ordering: .relaxed) }

    /// The same signals, of which the first is noted.
    func passing(_ signals: AsyncStream<Int32>) -> AsyncStream<Int32> {
        AsyncStream { continuation in
            Task {
                for await number in signals {
                    flag.store(true, ordering: .relaxed)
                    continuation.yield(number)
                }
            }
        }
    }
}

/// Runs what blocks on a thread of its own, which the tasks' own few must not do.
private func onOwnThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try Thread { continuation.resume(with: Swift.Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
