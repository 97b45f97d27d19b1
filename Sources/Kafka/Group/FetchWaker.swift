internal import Dispatch
internal import Synchronization

/// Wakes librdkafka's threads for brokers. Where a consumer's queue was full they look only once a second whether there is
/// room again (`rd_kafka_broker_consumer_serve`), so that a small queue would run dry; any request to its broker wakes one.
/// On a thread of its own, since librdkafka's questions block.
final class FetchWaker: Sendable {
    private struct Leaders {
        var partitions: Set<TopicPartition> = []
        /// One partition of each leader's.
        var firsts: [TopicPartition] = []
        var end = ContinuousClock.now
    }

    /// How long leaders are taken for what they were.
    private static let validity = Duration.seconds(10)

    private let client: Client
    private let queue = DispatchQueue(label: "pushmill.fetch")
    private let isAsking = Atomic<Bool>(false)
    private let leaders = Mutex(Leaders())

    init(_ client: Client) { self.client = client }

    /// Those of the brokers that lead these partitions.
    func wakeLeaders(of partitions: Set<TopicPartition>) {
        guard !isAsking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async {
            self.ask(partitions)
            self.isAsking.store(false, ordering: .releasing)
        }
    }

    private func ask(_ partitions: Set<TopicPartition>) {
        leaders.withLock { leaders in
            if leaders.partitions != partitions || leaders.end < .now {
                leaders.firsts = Metadata.byLeader(partitions, client).filter { $0.key >= 0 }.compactMap(\.value.first)
                leaders.partitions = partitions
                leaders.end = .now + Self.validity
            }
            for partition in leaders.firsts
            where (try? Metadata.offset(since: Position.end, in: partition, client, milliseconds: 2000)) == nil {
                leaders.partitions = []
            }
        }
    }
}
