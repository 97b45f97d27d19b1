package import Kafka
import Synchronization

/// What readiness and the end of the process are judged by.
package final class WorkerStatus: Sendable {
    private struct State {
        var hasJoined = false
        var isEnding = false
        var canPublish = true
        var canTransact: Bool
        var failure: KafkaError?
    }

    private let state: Mutex<State>
    private let contacts: ContactProgress?
    private let restores: RestoreProgress?
    private let counts: CountKeeper?

    init(
        contacts: ContactProgress? = nil, restores: RestoreProgress? = nil, counts: CountKeeper? = nil,
        isTransactional: Bool = false
    ) {
        self.contacts = contacts
        self.restores = restores
        self.counts = counts
        state = Mutex(State(canTransact: !isTransactional))
    }

    /// What the stages ask for is there, and outputs can be published.
    var isPrepared: Bool { (contacts?.isRestored ?? true) && state.withLock { $0.canTransact } }

    func transacting() { state.withLock { $0.canTransact = true } }

    func joined() { state.withLock { $0.hasJoined = true } }

    func ending() { state.withLock { $0.isEnding = true } }

    /// True when that is news.
    func publishing(_ works: Bool) -> Bool {
        state.withLock { state in
            defer { state.canPublish = works }
            return state.canPublish != works
        }
    }

    /// The worker cannot go on.
    func fail(_ error: KafkaError) { state.withLock { $0.failure = $0.failure ?? error } }

    package var failure: KafkaError? { state.withLock { $0.failure } }

    /// Why no traffic should be expected of this instance; empty when it is ready.
    package var reasons: [(word: String, sentence: String)] {
        state.withLock { state in
            var reasons: [(word: String, sentence: String)] = []
            if state.isEnding { reasons.append(("ending", "the service was told to end")) }
            if !state.hasJoined { reasons.append(("not-joined", "the group has not answered yet")) }
            if !state.canTransact {
                reasons.append(("no-transactions", "the name of the transactions has not been taken over yet"))
            }
            if !state.canPublish { reasons.append(("cannot-publish", "no broker takes what is published")) }
            if counts?.isOnHold == true {
                reasons.append(("checkpoint-failing", "the state file cannot be written: badges wait for it"))
            }
            if let failure = state.failure { reasons.append(("failed", failure.description)) }
            if let reason = contacts?.reason { reasons.append(reason) }
            if let reason = restores?.reason { reasons.append(reason) }
            return reasons
        }
    }
}
