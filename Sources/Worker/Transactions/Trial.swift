import Kafka
import Synchronization

/// Outputs that the brokers have refused for good. A whole batch is refused for one record: all of it are accused, and
/// the transaction is aborted. Those found guilty, alone, go to the dead letters when their records are done again.
final class Trial: Sendable {
    struct Accusation: Sendable {
        /// Of the record; nil when its partition has gone.
        let origin: Position?
        /// It was a dead letter already.
        let isLetter: Bool
        let timestamp: Int64
        let returned: ReturnedRecord
    }

    struct Conviction: Sendable {
        let reason: String
        /// The dead letters refuse the record too.
        let isLetterRefused: Bool
    }

    private struct State {
        var accused: [Accusation] = []
        var convictions: [Position: Conviction] = [:]
    }

    private let state = Mutex(State())
    private let hasConvictions = Atomic<Bool>(false)

    func accuse(_ accusation: Accusation) { state.withLock { $0.accused.append(accusation) } }

    func takeAccused() -> [Accusation] {
        state.withLock { state in
            defer { state.accused.removeAll() }
            return state.accused
        }
    }

    func convict(_ accusation: Accusation, _ error: KafkaError) {
        guard let origin = accusation.origin else { return }
        convict(origin, Conviction(reason: error.name, isLetterRefused: accusation.isLetter))
    }

    func convict(_ origin: Position, _ conviction: Conviction) {
        state.withLock { state in
            state.convictions[origin] = conviction
            hasConvictions.store(true, ordering: .releasing)
        }
    }

    /// nil for nearly all; asked before each output is published.
    func conviction(of origin: @autoclosure () -> Position) -> Conviction? {
        guard hasConvictions.load(ordering: .acquiring) else { return nil }
        let origin = origin()
        return state.withLock { $0.convictions[origin] }
    }

    /// A transaction was committed: cases of records that are done are closed.
    func close(isDone: (Position) -> Bool) { drop(where: isDone) }

    /// Partitions go to others, who find out for themselves.
    func forget(_ places: [TopicPartition]) { drop { places.contains($0.partition) } }

    private func drop(where isOver: (Position) -> Bool) {
        guard hasConvictions.load(ordering: .relaxed) else { return }
        let over = state.withLock { Array($0.convictions.keys) }.filter(isOver)
        state.withLock { state in
            for origin in over { state.convictions[origin] = nil }
            if state.convictions.isEmpty { hasConvictions.store(false, ordering: .releasing) }
        }
    }
}
