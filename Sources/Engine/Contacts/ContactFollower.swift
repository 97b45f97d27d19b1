package import PushmillKafka
import PushmillStages
package import PushmillStores
package import PushmillTelemetry
import Synchronization

/// Keeps the embedded store's contacts equal to a compacted topic, on its own thread: all partitions, or, if the topic
/// is co-partitioned with the input, those that shards ask for. Any thread may ask which are served; the follower's
/// thread takes the partitions to read and reports those it serves. Only `stop` and `wanted` wait.
package final class ContactFollower: Sendable {
    /// An input partition and the shard that owns it: the next owner may ask before the former one learns of its loss.
    private struct User: Hashable {
        let partition: TopicPartition
        let shard: Int
    }

    private struct State {
        /// Input partitions of any topic that need the contacts partition of their number; none unless co-partitioned.
        var users: Set<User> = []
        /// The needed partitions whose contacts have all been read.
        var served: Set<Int32> = []
        /// All partitions of the topic are served.
        var areAllServed = false
        var isEnding = false
        var read = 0
        var total = 0
        /// When the thread first failed to follow the topic; nil while it follows it.
        var failedSince: Instant?

        var needed: Set<Int32> { Set(users.map(\.partition.partition)) }
    }

    let topic: String
    let isCoPartitioned: Bool
    private let signal = WakeSignal()
    private let state = Mutex(State())
    private let thread = Mutex<Thread?>(nil)

    init(topic: String, isCoPartitioned: Bool) {
        self.topic = topic
        self.isCoPartitioned = isCoPartitioned
    }

    /// `properties` are a consumer's. Nothing else may change these contacts.
    package convenience init(
        _ properties: ClientProperties, topic: String, of cluster: String, isCoPartitioned: Bool = false,
        into store: StateFile, log: Log
    ) throws(TelemetryError) {
        self.init(topic: topic, isCoPartitioned: isCoPartitioned)
        let started = try Thread(named: "contacts") { [self] in
            var reading = ContactReading(properties, of: cluster, store, self, log)
            reading.serve()
        }
        thread.withLock { $0 = started }
    }

    /// True if the contacts that the partition's events need have been read. Otherwise begins to read them.
    package func isReady(_ partition: TopicPartition, for shard: Int) -> Bool {
        guard isCoPartitioned else { return isRestored }
        let (isNew, isServed) = state.withLock { state in
            let (isNew, _) = state.users.insert(User(partition: partition, shard: shard))
            return (isNew, state.served.contains(partition.partition))
        }
        if isNew { signal.wake() }
        return isServed
    }

    /// The shard does not need these partitions; others may. Their contacts stay in the store but are not found. A
    /// shard that needs one again waits until the thread, which may be dropping it, reports it as served again.
    package func forget(_ partitions: [TopicPartition], for shard: Int) {
        state.withLock { state in
            state.users.subtract(partitions.map { User(partition: $0, shard: shard) })
            state.served.formIntersection(state.needed)
        }
        signal.wake()
    }

    /// Returns when the thread has ended.
    package func stop() {
        end()
        thread.withLock { $0.take() }?.join()
    }

    func end() {
        state.withLock { $0.isEnding = true }
        signal.wake()
    }

    /// The partitions to follow; nil if the thread must end. Waits until `limit` at most, or until something changes.
    func wanted(until limit: Instant) -> Set<Int32>? {
        let left = limit.nanoseconds(since: TimeSource.system.now)
        signal.wait(nanoseconds: Int64(min(left, 60_000_000_000)))
        return state.withLock { $0.isEnding ? nil : $0.needed }
    }

    /// The store finds the contacts of these partitions, and goes on finding them until `wanted` leaves them out.
    func serve(_ partitions: Set<Int32>, areAll: Bool) {
        state.withLock { state in
            state.served = partitions.intersection(state.needed)
            state.areAllServed = areAll
        }
    }

    /// At most `total` records are to be read before the ends of the partitions are reached.
    func begin(total: Int) { state.withLock { ($0.read, $0.total) = (0, total) } }

    func add(_ count: Int) { state.withLock { $0.read += count } }

    /// A partition was not read, or what was read of it not kept.
    func fail() { state.withLock { $0.failedSince = $0.failedSince ?? TimeSource.system.now } }

    /// No partition has failed since the look before this one.
    func succeed() { state.withLock { $0.failedSince = nil } }

    /// For how long names have been as they were; zero while the thread follows the topic.
    package var failing: Duration {
        guard let since = state.withLock(\.failedSince) else { return .zero }
        return .nanoseconds(TimeSource.system.now.nanoseconds(since: since))
    }

    /// The records read, and an upper bound of their total: compaction leaves gaps.
    var records: (read: Int, total: Int) { state.withLock { ($0.read, $0.total) } }

    /// True as well if there is nothing to follow.
    var isRestored: Bool {
        state.withLock { isCoPartitioned ? $0.needed.isSubset(of: $0.served) : $0.areAllServed }
    }

    /// Why the contacts keep the instance from being ready; nil if they do not.
    package var reason: (word: String, sentence: String)? {
        if isRestored { return nil }
        let (read, total) = records
        let sentence = "reading contacts from the topic \(topic): \(read) of at most \(total) records"
        return ("contacts-not-restored", sentence)
    }
}
