internal import Dispatch
internal import Synchronization

/// Asks brokers where logs begin and end, on its own dispatch queue because librdkafka's calls block. Partitions
/// without a leader are asked about separately and delay no other.
final class LogRanges: Sendable {
    private typealias Answer = (partition: TopicPartition, range: Range<Int64>, number: UInt64)

    private struct State {
        var fresh: Set<TopicPartition> = []
        /// Asked about without success.
        var stale: Set<TopicPartition> = []
        var isRetryDue = false
        /// The number of each partition's open question. Answers to questions from before it was given back or asked
        /// about again do not count.
        var numbers: [TopicPartition: UInt64] = [:]
        var lastNumber: UInt64 = 0
        var answers: [Answer] = []
    }

    private let client: Client
    private let signal: WakeSignal
    private let queue = DispatchQueue(label: "pushmill.ranges")
    private let state = Mutex(State())
    private let hasAnswers = Atomic<Bool>(false)

    init(_ client: Client, _ signal: WakeSignal) {
        self.client = client
        self.signal = signal
    }

    func ask(_ partition: TopicPartition) {
        state.withLock { state in
            state.fresh.insert(partition)
            state.lastNumber += 1
            state.numbers[partition] = state.lastNumber
        }
        queue.async { self.answer(self.state.withLock { exchange(&$0.fresh, with: []) }) }
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in
            state.fresh.subtract(partitions)
            state.stale.subtract(partitions)
            for partition in partitions { state.numbers[partition] = nil }
        }
    }

    func take(into events: inout [ConsumerEvent]) {
        guard hasAnswers.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { state in
            for answer in exchange(&state.answers, with: []) where state.numbers[answer.partition] == answer.number {
                state.numbers[answer.partition] = nil
                events.append(.range(answer.partition, answer.range))
            }
        }
    }

    /// Stops asking. Work that is still queued keeps the client alive until it sees that.
    func close() { state.withLock { $0 = State() } }

    private func answer(_ asked: Set<TopicPartition>) {
        guard !asked.isEmpty else { return }
        let numbers = state.withLock { $0.numbers }
        var open = asked
        client.ranges(of: asked) { ranges in
            open.subtract(ranges.map(\.partition))
            let answers = ranges.compactMap { answer in
                numbers[answer.partition].map { (answer.partition, answer.range, $0) }
            }
            state.withLock { $0.answers += answers }
            hasAnswers.store(true, ordering: .releasing)
            signal.wake()
        }
        let isRetryToCome = state.withLock { state in
            state.stale.formUnion(open.filter { state.numbers[$0] != nil })
            return !state.stale.isEmpty && !exchange(&state.isRetryDue, with: true)
        }
        if isRetryToCome { queue.asyncAfter(deadline: .now() + .milliseconds(300)) { self.retry() } }
    }

    private func retry() {
        answer(state.withLock { exchange(&$0.fresh, with: []) })
        let stale = state.withLock { state in
            state.isRetryDue = false
            return exchange(&state.stale, with: [])
        }
        answer(stale)
    }
}
