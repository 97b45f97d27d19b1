import PushmillEngine
import PushmillKafka
import PushmillTelemetry
import Synchronization

/// Access to the engine, even before it exists: brokers may be unavailable when a service starts.
final class EngineHandle: Sendable {
    private struct State {
        var engine: ShardThreads?
        /// Why there is no engine yet.
        var waiting = ProbeReason.starting("the service is starting")
    }

    private let state = Mutex(State())
    private let cores: Int

    init(cores: Int) { self.cores = cores }

    func waits(for reason: ProbeReason) { state.withLock { $0.waiting = reason } }

    func started(_ engine: ShardThreads) { state.withLock { $0.engine = engine } }

    var engine: ShardThreads? { state.withLock { $0.engine } }
    var figures: [ShardFigures] { engine?.figures ?? [] }
    var backlogs: [Backlog] { engine?.backlogs ?? [] }
    var busySeconds: [Double] { engine?.busySeconds ?? Array(repeating: 0, count: cores) }

    /// Why no traffic should be expected of this instance; empty when it is ready.
    var reasons: [ProbeReason] {
        let (engine, waiting) = state.withLock { ($0.engine, $0.waiting) }
        guard let engine else { return [waiting] }
        return engine.reasons.map { ProbeReason($0.word, $0.sentence) }
    }
}

extension MetricRegistry {
    func add(_ handle: EngineHandle) {
        measure(.inFlightMessages) { [.init(handle.figures.sum(\.inFlight))] }
        measure(.inFlightBytes) { [.init(handle.figures.sum(\.inFlightBytes))] }
        measure(.lag) {
            handle.backlogs.compactMap { backlog in backlog.records.map { .init(Double($0), of: backlog.id) } }
        }
        measure(.oldestUnfinished) { handle.backlogs.map { .init($0.seconds, of: $0.id) } }
        measure(.paused) { handle.figures.flatMap(\.partitions).map { .init($0.isPaused ? 1 : 0, of: $0.id) } }
        measure(.busy) { handle.busySeconds.enumerated().map { .init($1, "\($0)") } }
        measure(.restoreLeft) {
            [.init(Double(handle.figures.reduce(0) { $0 + ($1.restoring > 0 ? $1.restoreLeft : 0) }))]
        }
        measure(.producerQueueMessages) {
            let producers = handle.figures.compactMap(\.produced?.latest)
            return producers.isEmpty ? [] : [.init(producers.sum(\.queuedMessages))]
        }
        measure(.producerQueueBytes) {
            let producers = handle.figures.compactMap(\.produced?.latest)
            return producers.isEmpty ? [] : [.init(producers.sum(\.queuedBytes))]
        }
        measure(.brokerRoundTrip) {
            let figures = handle.figures
            return Self.longest("consumer", figures.compactMap(\.consumed?.latest))
                + Self.longest("producer", figures.compactMap(\.produced?.latest))
        }
    }

    /// For each broker, the slowest of several clients.
    private static func longest(_ client: String, _ statistics: [ClientStatistics]) -> [MetricSample] {
        let roundTrips = statistics.flatMap(\.roundTrips).map { ($0.broker, $0.seconds) }
        return Dictionary(roundTrips, uniquingKeysWith: max).sorted { $0.key < $1.key }
            .map { MetricSample($0.value, client, "\($0.key)") }
    }
}

extension MetricSample {
    fileprivate init(_ value: Double, of id: TopicPartition) { self.init(value, id.topic, "\(id.partition)") }
}

extension Array {
    fileprivate func sum(_ number: KeyPath<Element, Int>) -> Double { Double(reduce(0) { $0 + $1[keyPath: number] }) }
}
