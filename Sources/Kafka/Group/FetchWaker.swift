internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// Wakes librdkafka's threads for brokers. Where a consumer's queue was full they look only once a second whether there is
/// room again (`rd_kafka_broker_consumer_serve`), so that a small queue would run dry; any request to its broker wakes one.
/// On a queue of its own, since librdkafka's questions block.
final class FetchWaker: Sendable {
    private struct Leaders {
        var partitions: Set<TopicPartition> = []
        /// One partition of each leader's.
        var firsts: [TopicPartition] = []
        var end = ContinuousClock.now
    }

    /// How long leaders are taken for what they were, and how long where that may be wrong.
    private static let validity = Duration.seconds(10)
    private static let doubtfulValidity = Duration.seconds(1)
    /// For the answers, which say nothing, in milliseconds: a leader with nothing new answers behind a fetch that waits.
    private static let patience: Int32 = 50

    private let client: Client
    private let queue = DispatchQueue(label: "pushmill.fetch")
    /// A wake-up waits for its turn: those that come meanwhile are one with it.
    private let isDue = Atomic<Bool>(false)
    private let leaders = Mutex(Leaders())

    init(_ client: Client) { self.client = client }

    /// Those of the brokers that lead these partitions.
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
