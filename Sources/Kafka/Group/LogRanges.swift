internal import CRdKafka
internal import Synchronization

/// Asks brokers where logs begin and end, on a thread of its own: librdkafka's questions for that block. Partitions
/// without a leader wait apart and hold up no other.
final class LogRanges: Sendable {
    private struct State {
        var isClosed = false
        var hasThread = false
        var fresh: Set<TopicPartition> = []
        /// Asked without success: asked again when nothing else is to be asked.
        var stale: Set<TopicPartition> = []
        var answers: [(TopicPartition, Range<Int64>)] = []
    }

    private let client: Client
    private let signal: WakeSignal
    private let work = WakeSignal()
    private let state = Mutex(State())
    private let hasAnswers = Atomic<Bool>(false)

    init(_ client: Client, _ signal: WakeSignal) {
        self.client = client
        self.signal = signal
    }

    func ask(_ partition: TopicPartition) {
        let isFirst = state.withLock { state in
            state.fresh.insert(partition)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // The thread has its own hold on the client until it sees that it is to end.
        if isFirst, !startThread({ self.run() }) { state.withLock { $0.hasThread = false } }
        work.wake()
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in
            state.fresh.subtract(partitions)
            state.stale.subtract(partitions)
        }
    }

    func take(into events: inout [ConsumerEvent]) {
        guard hasAnswers.exchange(false, ordering: .acquiringAndReleasing) else { return }
        let answers = state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
        for (partition, range) in answers { events.append(.range(partition, range)) }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        work.wake()
    }

    private func run() {
        while true {
            let (isClosed, asked, isIdle) = state.withLock { state in
                let isIdle = state.fresh.isEmpty && state.stale.isEmpty
                let asked = state.fresh
                state.fresh = []
                return (state.isClosed, asked, isIdle)
            }
            if isClosed { return }
            if !asked.isEmpty {
                answer(asked)
                continue
            }
            work.wait(nanoseconds: isIdle ? .max / 4 : 300_000_000)
            state.withLock { state in
                guard state.fresh.isEmpty else { return }
                swap(&state.fresh, &state.stale)
            }
        }
    }

    private func answer(_ asked: Set<TopicPartition>) {
        var open = asked
        for (leader, partitions) in byLeader(asked) where leader >= 0 {
            let list = partitions.sorted { $0.partition < $1.partition }
            guard let begins = offsets(Position.beginning, list), let ends = offsets(Position.end, list) else {
                continue
            }
            var answers: [(TopicPartition, Range<Int64>)] = []
            for partition in list {
                guard let begin = begins[partition], let end = ends[partition] else { continue }
                answers.append((partition, begin..<max(begin, end)))
                open.remove(partition)
            }
            state.withLock { $0.answers += answers }
            hasAnswers.store(true, ordering: .releasing)
            signal.wake()
        }
        state.withLock { $0.stale.formUnion(open) }
    }

    /// By the broker to be asked; -1 where there is none.
    private func byLeader(_ partitions: Set<TopicPartition>) -> [Int32: [TopicPartition]] {
        var leaders: [TopicPartition: Int32] = [:]
        for topic in Set(partitions.map(\.topic)) {
            for (partition, leader) in Metadata.leaders(of: topic, client, milliseconds: 2000) {
                leaders[TopicPartition(topic, partition)] = leader
            }
        }
        return Dictionary(grouping: partitions) { leaders[$0] ?? -1 }
    }

    private func offsets(_ end: Int64, _ partitions: [TopicPartition]) -> [TopicPartition: Int64]? {
        let list = PartitionList(partitions.map { Position($0, offset: end) })
        guard rd_kafka_offsets_for_times(client.handle, list.pointer, 2000) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return nil
        }
        let known = list.results.filter { $0.error == nil && $0.position.offset >= 0 }
        return Dictionary(known.map { ($0.position.partition, $0.position.offset) }) { _, last in last }
    }
}
