internal import Dispatch
internal import Synchronization

/// Asks brokers where logs begin and end, on dispatch queues of its own because librdkafka's calls block. Partitions
/// without a leader are asked about again separately and delay no other.
final class LogRanges: Sendable {
    private struct State {
        /// The number of each partition's open question. Answers to questions from before it was given back or asked
        /// about again do not count.
        var open: [TopicPartition: UInt64] = [:]
        /// Questions that nobody has asked brokers yet.
        var fresh: [TopicPartition: UInt64] = [:]
        var lastNumber: UInt64 = 0
    }

    private let client: Client
    private let answers: Mailbox<ConsumerEvent>
    private let queue = DispatchQueue(label: "pushmill.ranges")
    private let retries = DispatchQueue(label: "pushmill.ranges.again")
    private let state = Mutex(State())

    init(_ client: Client, _ answers: Mailbox<ConsumerEvent>) {
        self.client = client
        self.answers = answers
    }

    func ask(_ partition: TopicPartition) {
        state.withLock { state in
            state.lastNumber += 1
            state.open[partition] = state.lastNumber
            state.fresh[partition] = state.lastNumber
        }
        queue.async { self.answer(self.state.withLock { exchange(&$0.fresh, with: [:]) }) }
    }

    func forget(_ partitions: [TopicPartition]) {
        state.withLock { state in for partition in partitions { state.open[partition] = nil } }
    }

    /// Stops asking. Work that is still queued keeps the client alive until it sees that.
    func close() { state.withLock { $0 = State() } }

    private func answer(_ questions: [TopicPartition: UInt64]) {
        let asked = questions.filter { question in state.withLock { $0.open[question.key] == question.value } }
        guard !asked.isEmpty else { return }
        client.ranges(of: Set(asked.keys)) { ranges in
            for (partition, range) in ranges where end(partition, asked[partition]) {
                answers.post(.range(partition, range))
            }
        }
        retries.asyncAfter(deadline: .now() + .milliseconds(300)) { self.answer(asked) }
    }

    /// False if the question does not count any more.
    private func end(_ partition: TopicPartition, _ number: UInt64?) -> Bool {
        state.withLock { state in
            guard state.open[partition] == number else { return false }
            state.open[partition] = nil
            return true
        }
    }
}
