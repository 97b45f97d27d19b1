import Kafka
import Synchronization

/// Outputs that the brokers have refused for good. A whole batch is refused for one record, so that all of it are
/// suspects: after the abort each is sent alone, and what is refused then is convicted; after one more abort it goes to
/// the dead letters.
final class Trial: Sendable {
    enum Standing: Sendable {
        case suspect
        case convicted(reason: String)
    }

    private struct State {
        var standings: [Position: Standing] = [:]
        /// Those that wait to be sent alone.
        var suspects: [HeldOutput] = []
        /// Refused or purged: their transaction is going to be aborted.
        var returned: [InFlightTable.Ticket] = []
    }

    private let state = Mutex(State())
    private let hasCases = Atomic<Bool>(false)

    /// nil for nearly all; asked before each output is published.
    func standing(of origin: @autoclosure () -> Position) -> Standing? {
        guard hasCases.load(ordering: .relaxed) else { return nil }
        let origin = origin()
        return state.withLock { $0.standings[origin] }
    }

    func accuse(_ origin: Position) {
        hasCases.store(true, ordering: .relaxed)
        state.withLock { state in
            if state.standings[origin] == nil { state.standings[origin] = .suspect }
        }
    }

    func convict(_ origin: Position, reason: String) {
        state.withLock { $0.standings[origin] = .convicted(reason: reason) }
    }

    /// A transaction was committed: cases of records that are done are closed.
    func close(isDone: (Position) -> Bool) {
        guard hasCases.load(ordering: .relaxed) else { return }
        let origins = state.withLock { Array($0.standings.keys) }
        let done = origins.filter(isDone)
        let isEmpty = state.withLock { state in
            for origin in done { state.standings[origin] = nil }
            return state.standings.isEmpty
        }
        if isEmpty { hasCases.store(false, ordering: .relaxed) }
    }

    func hold(_ output: HeldOutput) { state.withLock { $0.suspects.append(output) } }

    func takeSuspects() -> [HeldOutput] {
        state.withLock { state in
            defer { state.suspects.removeAll() }
            return state.suspects
        }
    }

    func note(returned ticket: InFlightTable.Ticket) { state.withLock { $0.returned.append(ticket) } }

    func takeReturned() -> [InFlightTable.Ticket] {
        state.withLock { state in
            defer { state.returned.removeAll() }
            return state.returned
        }
    }
}
