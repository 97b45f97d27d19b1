import Synchronization
import Telemetry

/// How far the counts of partitions that are being restored have been read.
final class RestoreProgress: Sendable {
    private struct State {
        /// What is left, by partition.
        var left: [Int32: Range<Int64>] = [:]
        var total = 0

        var sum: Int { left.values.reduce(0) { $0 + $1.count } }
    }

    private let topic: String
    private let metrics: ServiceMetrics
    private let state = Mutex(State())

    init(topic: String, metrics: ServiceMetrics) {
        self.topic = topic
        self.metrics = metrics
    }

    /// At most these offsets are to be read of the partition: compaction leaves gaps.
    func begin(_ partition: Int32, _ offsets: Range<Int64>) {
        change { state in
            if state.left.isEmpty { state.total = 0 }
            state.total += offsets.count - (state.left[partition]?.count ?? 0)
            state.left[partition] = offsets
        }
    }

    /// So many records were read of it, and `next` is.
    func read(_ partition: Int32, records: Int, next: Int64) {
        metrics.restoredRecords.add(records)
        change { state in
            guard let left = state.left[partition] else { return }
            state.left[partition] = min(max(next, left.lowerBound), left.upperBound)..<left.upperBound
        }
    }

    /// It is whole, or not ours any more.
    func end(_ partition: Int32) { change { $0.left[partition] = nil } }

    private func change(_ body: (inout State) -> Void) {
        let left = state.withLock { state in
            body(&state)
            return state.sum
        }
        metrics.restoreLeft.set(left)
    }

    /// What is done of what there was to read, since nothing was being restored.
    var records: (read: Int, total: Int) { state.withLock { (max(0, $0.total - $0.sum), $0.total) } }

    /// Why not everything that is assigned here is served.
    var reason: (word: String, sentence: String)? {
        let (count, read, total) = state.withLock { ($0.left.count, max(0, $0.total - $0.sum), $0.total) }
        guard count > 0 else { return nil }
        let sentence = "the counts of \(count) partitions are read from \(topic): \(read) of at most \(total) records"
        return ("restoring-counts", sentence)
    }
}
