internal import Dispatch
internal import Synchronization

/// Asks brokers where logs begin and end, on a thread of its own: librdkafka's questions for that block. Partitions
/// without a leader wait apart and hold up no other.
final class LogRanges: Sendable {
    private typealias Answer = (partition: TopicPartition, range: Range<Int64>, number: UInt64)

    private struct State {
        var isClosed = false
        var hasThread = false
        var fresh: Set<TopicPartition> = []
        /// Asked without success: asked again when nothing else is to be asked.
        var stale: Set<TopicPartition> = []
        /// Of the questions that are open: what was asked before a partition was given back, or asked about again, is no
        /// answer.
        var numbers: [TopicPartition: UInt64] = [:]
        var lastNumber: UInt64 = 0
        var answers: [Answer] = []

        mutating func takeAnswers() -> [Answer] {
            let taken = answers.filter { numbers[$0.partition] == $0.number }
            for answer in taken { numbers[answer.partition] = nil }
            answers = []
            return taken
        }
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
            state.lastNumber += 1
            state.numbers[partition] = state.lastNumber
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // The thread has its own hold on the client until it sees that it is to end.
        if isFirst { DispatchQueue(label: "pushmill.ranges").async { self.run() } }
        work.wake()
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
        for answer in state.withLock({ $0.takeAnswers() }) { events.append(.range(answer.partition, answer.range)) }
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
        let numbers = state.withLock { $0.numbers }
        var open = asked
        client.ranges(of: asked) { ranges in
            var answers: [Answer] = []
            for (partition, range) in ranges {
                open.remove(partition)
                guard let number = numbers[partition] else { continue }
                answers.append((partition, range, number))
            }
            state.withLock { $0.answers += answers }
            hasAnswers.store(true, ordering: .releasing)
            signal.wake()
        }
        state.withLock { state in state.stale.formUnion(open.filter { state.numbers[$0] != nil }) }
    }
}
