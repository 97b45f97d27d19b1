import PushmillEngine
import PushmillKafka
import Synchronization
import PushmillTelemetry

/// The engine for those who ask about it, also before there is one: brokers may be away when a service starts.
final class EngineHandle: Sendable {
    private struct State {
        var engine: ShardThreads?
        /// Why there is none yet.
        var waiting = ProbeReason.starting("the service is starting")
        var isEndWanted = false
    }

    private let state = Mutex(State())

    func waits(for reason: ProbeReason) { state.withLock { $0.waiting = reason } }

    func started(_ engine: ShardThreads) {
        let isEndWanted = state.withLock { state in
            state.engine = engine
            return state.isEndWanted
        }
        if isEndWanted { engine.terminate() }
    }

    /// Ends the engine, or else the one that starts.
    func terminate() {
        let engine = state.withLock { state in
            state.isEndWanted = true
            return state.engine
        }
        engine?.terminate()
    }

    var engine: ShardThreads? { state.withLock { $0.engine } }

    /// Why no traffic should be expected of this instance; empty when it is ready.
    var reasons: [ProbeReason] {
        let (engine, waiting) = state.withLock { ($0.engine, $0.waiting) }
        guard let engine else { return [waiting] }
        return engine.reasons.map { ProbeReason($0.word, $0.sentence) }
    }
}

extension MetricRegistry {
    /// What an engine tells when it is asked.
    func add(_ handle: EngineHandle) {
        addInFlight {
            (handle.engine?.figures ?? []).reduce((0, 0)) { ($0.0 + $1.inFlight, $0.1 + $1.inFlightBytes) }
        }
        addBacklog {
            (handle.engine?.backlogs ?? []).map { ($0.place.topic, $0.place.partition, $0.records, $0.seconds) }
        }
        addPaused {
            (handle.engine?.figures ?? []).flatMap(\.partitions).map {
                ($0.place.topic, $0.place.partition, $0.isPaused)
            }
        }
        addBusy { [shards] in handle.engine?.busySeconds ?? Array(repeating: 0, count: shards) }
        addRestoreLeft { handle.engine?.restoreLeft ?? 0 }
        addProducerQueue {
            let produced = (handle.engine?.clients ?? []).compactMap(\.produced)
            guard !produced.isEmpty else { return nil }
            return produced.reduce((0, 0)) { ($0.0 + $1.queuedMessages, $0.1 + $1.queuedBytes) }
        }
        addBrokerRoundTrips {
            let clients = handle.engine?.clients ?? []
            return [("consumer", clients.compactMap(\.consumed)), ("producer", clients.compactMap(\.produced))]
                .flatMap { name, statistics in
                    Self.longest(statistics.flatMap(\.roundTrips)).map { (name, $0.key, $0.value) }
                }
        }
    }

    /// Of several clients the slowest tells.
    private static func longest(_ roundTrips: [ClientStatistics.RoundTrip]) -> [(key: Int32, value: Double)] {
        Dictionary(roundTrips.map { ($0.broker, $0.seconds) }, uniquingKeysWith: max).sorted { $0.key < $1.key }
    }
}
