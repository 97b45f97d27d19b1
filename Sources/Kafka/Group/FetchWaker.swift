internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// Wakes librdkafka's threads for brokers. Where a consumer's queue was full they look only once a second whether there is
/// room again (`rd_kafka_broker_consumer_serve`), so that a small queue would run dry; any request to its broker wakes one.
/// On a queue of its own, since librdkafka's questions block.
final class FetchWaker: Sendable {
    private enum State {
        static let idle: UInt8 = 0
        static let asking: UInt8 = 1
        /// Somebody has asked for another wake-up since that began.
        static let due: UInt8 = 2
    }

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
    private let state = Atomic<UInt8>(State.idle)
    private let leaders = Mutex(Leaders())

    init(_ client: Client) { self.client = client }

    /// Those of the brokers that lead these partitions.
    func wakeLeaders(of partitions: Set<TopicPartition>) {
        guard state.exchange(State.due, ordering: .acquiringAndReleasing) == State.idle else { return }
        queue.async {
            repeat {
                self.state.store(State.asking, ordering: .releasing)
                self.ask(partitions)
            } while !self.state.compareExchange(
                expected: State.asking, desired: State.idle, ordering: .acquiringAndReleasing
            ).exchanged
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
