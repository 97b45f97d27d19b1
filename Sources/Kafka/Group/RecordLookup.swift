internal import Dispatch
internal import Glibc
internal import Synchronization

/// Reads single records of logs, on its own dispatch queue and with a reader of its own, which lives while a question
/// is open. A question stays open until brokers have answered: time says nothing about a log.
final class RecordLookup: Sendable {
    /// Called on the dispatch queue; nil if the log holds no record at the offset. The record is lent for the call.
    typealias Answer = @Sendable (Record?) -> Void

    private struct State {
        var open: [Position: Answer] = [:]
        var isRunning = false
    }

    private let properties: ClientProperties
    private let log: KafkaLogSink
    private let queue = DispatchQueue(label: "pushmill.records")
    private let state = Mutex(State())

    /// `properties` are the group consumer's.
    init(_ properties: ClientProperties, log: @escaping KafkaLogSink) {
        var properties = properties
        // A follower may lag behind what its leader has acknowledged.
        properties["client.rack"] = nil
        properties["queued.min.messages"] = "1"
        self.properties = properties
        self.log = log
    }

    /// Replaces an open question about the same offset.
    func ask(_ position: Position, _ answer: @escaping Answer) {
        let isFirst = state.withLock { state in
            state.open[position] = answer
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { queue.async { self.run() } }
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in state.open = state.open.filter { !partitions.contains($0.key.partition) } }
    }

    /// Stops asking.
    func close() { state.withLock { $0.open = [:] } }

    private func run() {
        var reader: PartitionReader?
        while true {
            let open = state.withLock { state in
                state.isRunning = !state.open.isEmpty
                return Array(state.open.keys)
            }
            if open.isEmpty { return }
            do throws(KafkaError) {
                if reader == nil { reader = try PartitionReader(properties, tellsEnds: true, log: log) }
                // Each for a second at most, since there may be others to look at. What is not answered stays open.
                for asked in Dictionary(grouping: open, by: \.partition.topic).values {
                    try reader?.look(at: asked, answer)
                }
            } catch {
                // Files with secrets may be in the middle of a replacement.
                usleep(1_000_000)
            }
        }
    }

    private func answer(_ position: Position, _ record: Record?) {
        state.withLock { $0.open.removeValue(forKey: position) }?(record)
    }
}
