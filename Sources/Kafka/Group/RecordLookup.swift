internal import Dispatch
internal import Glibc
internal import Synchronization

/// Finds out which record a log has at an offset, on its own dispatch queue and with a reader of its own, which lives
/// while a question is open. A question stays open until brokers have answered: time says nothing about a log.
final class RecordLookup: Sendable {
    private struct State {
        /// The offset that each partition is asked about.
        var open: [TopicPartition: Int64] = [:]
        var isRunning = false
        var answers: [ConsumerEvent] = []
    }

    private let properties: ClientProperties
    private let log: KafkaLogSink
    private let signal: WakeSignal
    private let queue = DispatchQueue(label: "pushmill.records")
    private let state = Mutex(State())
    private let hasAnswers = Atomic<Bool>(false)

    /// `properties` are the group consumer's.
    init(_ properties: ClientProperties, _ signal: WakeSignal, log: @escaping KafkaLogSink) {
        var properties = properties
        // A follower may lag behind what its leader has acknowledged.
        properties["client.rack"] = nil
        properties["queued.min.messages"] = "1"
        self.properties = properties
        self.signal = signal
        self.log = log
    }

    /// Replaces an open question about the partition.
    func ask(_ position: Position) {
        let isFirst = state.withLock { state in
            state.open[position.partition] = position.offset
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { queue.async { self.run() } }
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in for partition in partitions { state.open[partition] = nil } }
    }

    func take(into events: inout [ConsumerEvent]) {
        guard hasAnswers.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { events += exchange(&$0.answers, with: []) }
    }

    /// Stops asking.
    func close() { state.withLock { $0.open = [:] } }

    private func run() {
        var reader: PartitionReader?
        while true {
            let open = state.withLock { state in
                state.isRunning = !state.open.isEmpty
                return state.open.map { Position($0.key, offset: $0.value) }
            }
            if open.isEmpty { return }
            do throws(KafkaError) {
                if reader == nil { reader = try PartitionReader(properties, tellsEnds: true, log: log) }
                for asked in Dictionary(grouping: open, by: \.partition.topic).values { try look(at: asked, reader) }
            } catch {
                // Files with secrets may be in the middle of a replacement.
                usleep(1_000_000)
            }
        }
    }

    /// Positions of one topic. Returns after a second at the latest, since there may be others to look at; those of
    /// partitions without a leader, or behind an open transaction, stay open.
    private func look(at asked: [Position], _ reader: PartitionReader?) throws(KafkaError) {
        guard let reader else { return }
        try reader.read(from: asked)
        var left: [Int32: Position] = [:]
        for position in asked { left[position.partition.partition] = position }
        for _ in 0..<10 where !left.isEmpty {
            let batch = reader.poll(milliseconds: 100)
            for record in batch.records {
                if let position = left.removeValue(forKey: record.partition) {
                    answer(position, record.offset == position.offset ? record.timestamp : nil)
                }
                record.destroy()
            }
            let outOfLog = batch.errors.filter(\.error.isOffsetOutOfLog).map(\.partition)
            for partition in batch.ends.map(\.partition) + outOfLog {
                if let position = left.removeValue(forKey: partition) { answer(position, nil) }
            }
        }
        try reader.read(from: [])
    }

    private func answer(_ position: Position, _ timestamp: Int64?) {
        state.withLock { state in
            guard state.open[position.partition] == position.offset else { return }
            state.open[position.partition] = nil
            state.answers.append(.record(position, timestamp: timestamp))
        }
        hasAnswers.store(true, ordering: .releasing)
        signal.wake()
    }
}
