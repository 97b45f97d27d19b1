internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// Wakes librdkafka's broker threads. Once a consumer's queue is full, they check only once a second for room
/// (`rd_kafka_broker_consumer_serve`), and a small queue would run dry; any request to its broker wakes a thread. It
/// uses its own dispatch queue because librdkafka's calls block.
final class FetchWaker: Sendable {
    private struct Leaders {
        var partitions: Set<TopicPartition> = []
        /// One partition of each leader.
        var firsts: [TopicPartition] = []
        var end = ContinuousClock.now
    }

    /// How long known leaders are relied on, and how long if they may be wrong.
    private static let validity = Duration.seconds(10)
    private static let doubtfulValidity = Duration.seconds(1)
    /// Milliseconds to wait for the answers, which are unused: a leader without news answers after a pending fetch.
    private static let patience: Int32 = 50

    private let client: Client
    private let queue = DispatchQueue(label: "pushmill.fetch")
    /// A wake-up is already queued, and stands for those that come meanwhile.
    private let isDue = Atomic<Bool>(false)
    private let leaders = Mutex(Leaders())

    init(_ client: Client) { self.client = client }

    /// Wakes the threads of the brokers that lead these partitions.
    func wakeLeaders(of partitions: Set<TopicPartition>) {
        guard !isDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async {
            self.isDue.store(false, ordering: .releasing)
            self.ask(partitions)
        }
    }

    private func ask(_ partitions: Set<TopicPartition>) {
        leaders.withLock { leaders in
            if leaders.partitions != partitions || leaders.end < .now {
                leaders.firsts = client.byLeader(partitions).compactMap(\.value.first)
                leaders.partitions = partitions
                leaders.end = .now + Self.validity
            }
            guard !leaders.firsts.isEmpty else { return }
            // librdkafka sends to all of them before it waits for any.
            let list = PartitionList(leaders.firsts.map { Position($0, offset: Position.end) })
            let code = rd_kafka_offsets_for_times(client.handle, list.pointer, Self.patience)
            if code != RD_KAFKA_RESP_ERR_NO_ERROR { leaders.end = min(leaders.end, .now + Self.doubtfulValidity) }
        }
    }
}
