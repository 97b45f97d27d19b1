package import PushmillKafka
import PushmillStages
package import PushmillStores
package import PushmillTelemetry
import Synchronization

/// Keeps the contacts of the embedded store those of a compacted topic, on a thread of its own: of all its partitions, or
/// of those that are asked for where it is co-partitioned with the input. Any thread asks which are there; the follower's
/// own takes what it is to read, and says what it has. Everything but `stop` returns at once.
package final class ContactFollower: Sendable {
    /// An input partition, and the shard that has it: another may have it before the one that has lost it is told.
    private struct User: Hashable {
        let place: TopicPartition
        let shard: Int
    }

    private struct State {
        /// Who needs a partition: input partitions of its number, of each topic. Without partitions of their own, nobody.
        var users: Set<User> = []
        /// The needed partitions whose contacts have all been read.
        var served: Set<Int32> = []
        /// All partitions of the topic are.
        var areAllServed = false
        var isEnding = false
        var read = 0
        var total = 0

        var needed: Set<Int32> { Set(users.map(\.place.partition)) }
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

    /// Begins to bring the contacts that the partition's events need where they are not there yet.
    package func isReady(_ partition: TopicPartition, for shard: Int) -> Bool {
        guard isCoPartitioned else { return isRestored }
        let (isNew, isServed) = state.withLock { state in
            let (isNew, _) = state.users.insert(User(place: partition, shard: shard))
            return (isNew, state.served.contains(partition.partition))
        }
        if isNew { signal.wake() }
        return isServed
    }

    /// The shard needs them no more; another one may. What the store has of them stays, and is not found. Who needs one again
    /// later waits until the thread has said once more that it is served: it may be letting go of it.
    package func forget(_ partitions: [TopicPartition], for shard: Int) {
        state.withLock { state in
            state.users.subtract(partitions.map { User(place: $0, shard: shard) })
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

    /// The partitions to follow; nil when the thread is to end. Waits for news until that time.
    func wanted(until limit: Instant) -> Set<Int32>? {
        let left = limit.nanoseconds(since: TimeSource.system.now)
        signal.wait(nanoseconds: Int64(min(left, 60_000_000_000)))
        return state.withLock { $0.isEnding ? nil : $0.needed }
    }

    /// The contacts of these are found, and go on to be until `wanted` is without them.
    func serve(_ partitions: Set<Int32>, areAll: Bool) {
        state.withLock { state in
            state.served = partitions.intersection(state.needed)
            state.areAllServed = areAll
        }
    }

    /// At most so many records are to be read, after which others are awaited.
    func begin(total: Int) { state.withLock { ($0.read, $0.total) = (0, total) } }

    func add(_ count: Int) { state.withLock { $0.read += count } }

    /// What was read, and at most how much it will be: compaction leaves gaps.
    var records: (read: Int, total: Int) { state.withLock { ($0.read, $0.total) } }

    /// With nothing to follow there is nothing to wait for.
    var isRestored: Bool {
        state.withLock { isCoPartitioned ? $0.needed.isSubset(of: $0.served) : $0.areAllServed }
    }

    /// Why the contacts keep the instance from being ready; nil where they do not.
    package var reason: (word: String, sentence: String)? {
        if isRestored { return nil }
        let (read, total) = records
        let sentence = "contacts are read from the topic \(topic): \(read) of at most \(total) records"
        return ("contacts-not-restored", sentence)
    }
}

/// The partitions of a topic of contacts that are read here.
struct FollowedPartitions {
    private(set) var all: Set<Int32> = []
    /// They were read to their ends since they are followed.
    private(set) var served: Set<Int32> = []
    /// And need not be read from their beginning again, while what is there stays in service.
    private(set) var whole: Set<Int32> = []
    /// What each must still hold, or something newer, if it is the one that was read before.
    var expected: [Int32: RecordPosition] = [:]

    var areServed: Bool { served == all }
    var areWhole: Bool { whole == all }

    /// What is known of those that stay is kept.
    mutating func become(_ partitions: Set<Int32>) {
        all = partitions
        served.formIntersection(partitions)
        whole.formIntersection(partitions)
        expected = expected.filter { partitions.contains($0.key) }
    }

    /// They have been read to their ends.
    mutating func complete(_ partitions: Set<Int32>) {
        served.formUnion(partitions.intersection(all))
        whole.formUnion(partitions.intersection(all))
    }

    /// Those that the topic does not have: it has so many.
    func missing(ofTopic count: Int) -> [Int32] { all.filter { $0 >= count }.sorted() }

    /// How often it is asked how many it has. Events wait for those that are missing.
    func looksEvery(ofTopic count: Int) -> Duration { missing(ofTopic: count).isEmpty ? .seconds(60) : .seconds(2) }

    /// They are read from their beginning. True if any of them is followed.
    mutating func forget(_ partitions: Set<Int32>) -> Bool {
        whole.subtract(partitions)
        return !all.isDisjoint(with: partitions)
    }
}
