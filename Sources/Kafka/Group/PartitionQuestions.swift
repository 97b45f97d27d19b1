internal import Dispatch
internal import Glibc
internal import Synchronization

/// Questions about partitions, which brokers are asked until they have answered: on a dispatch queue of their own,
/// because librdkafka's calls block.
final class PartitionQuestions: Sendable {
    private struct State {
        /// The number of each partition's open question. Answers to questions from before it was given back or asked
        /// about again do not count.
        var open: [TopicPartition: UInt64] = [:]
        var lastNumber: UInt64 = 0
        var isRunning = false
    }

    /// Asks once, and passes on each answer. Partitions without an answer are asked about again.
    typealias Attempt =
        @Sendable (
            _ asked: Set<TopicPartition>, _ answer: (TopicPartition, ConsumerEvent) -> Void
        ) -> Void

    private let answers: Mailbox<ConsumerEvent>
    private let attempt: Attempt
    private let queue: DispatchQueue
    private let state = Mutex(State())

    init(_ label: String, _ answers: Mailbox<ConsumerEvent>, attempt: @escaping Attempt) {
        self.answers = answers
        self.attempt = attempt
        queue = DispatchQueue(label: label)
    }

    func ask(_ partitions: [TopicPartition]) {
        let isFirst = state.withLock { state in
            state.lastNumber += 1
            for partition in partitions { state.open[partition] = state.lastNumber }
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { queue.async { self.run() } }
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in for partition in partitions { state.open[partition] = nil } }
    }

    /// Stops asking. An attempt that is under way keeps its client alive.
    func close() { state.withLock { $0.open = [:] } }

    private func run() {
        while true {
            let asked = state.withLock { state in
                state.isRunning = !state.open.isEmpty
                return state.open
            }
            if asked.isEmpty { return }
            var left = Set(asked.keys)
            attempt(left) { partition, event in
                left.remove(partition)
                let isOpen = state.withLock { state in
                    guard let number = asked[partition], state.open[partition] == number else { return false }
                    state.open[partition] = nil
                    return true
                }
                if isOpen { answers.post(event) }
            }
            if !left.isEmpty { usleep(100_000) }
        }
    }
}
