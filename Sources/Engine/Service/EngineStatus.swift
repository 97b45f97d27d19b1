import Synchronization

/// What readiness is judged by, beside what shards show of themselves.
package final class EngineStatus: Sendable {
    private struct State {
        var joined: Set<Int> = []
        var isEnding = false
    }

    private let state = Mutex(State())

    package init() {}

    /// The group has told this shard what is its own, if only nothing.
    func joined(_ shard: Int) { state.withLock { _ = $0.joined.insert(shard) } }

    func ending() { state.withLock { $0.isEnding = true } }

    package var isEnding: Bool { state.withLock { $0.isEnding } }

    package var joinedCount: Int { state.withLock { $0.joined.count } }
}

extension ShardThreads {
    /// Why no traffic should be expected of this instance; empty when it is ready.
    package var reasons: [(word: String, sentence: String)] {
        var reasons: [(word: String, sentence: String)] = []
        let all = figures
        if status.isEnding { reasons.append(("ending", "the service was told to end")) }
        if status.joinedCount < all.count { reasons.append(("not-joined", "the group has not answered yet")) }
        if all.contains(where: { !$0.isInitialized }) {
            reasons.append(("no-transactions", "the name of the transactions has not been taken over yet"))
        }
        if all.contains(where: { !$0.canPublish }) || clients.contains(where: { !$0.isAnswered }) {
            reasons.append(("cannot-publish", "no broker takes what is published"))
        }
        let waiting = all.flatMap(\.partitions).filter(\.isRestoring)
        if let reason = contacts?.reason { reasons.append(reason) }
        if !waiting.isEmpty, counts {
            let left = clients.reduce(0) { $0 + $1.restoreLeft }
            let sentence =
                "the counts of \(waiting.count) partitions are read from their changelog: at most \(left) records are left"
            reasons.append(("restoring-counts", sentence))
        }
        return reasons
    }
}
