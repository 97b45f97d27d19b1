import PushmillStores
import Synchronization

/// The partitions of a topic of contacts that are read here, and who waits for them.
struct FollowedPartitions {
    private struct Followed {
        /// It was read to its end since it is followed.
        var isServed = false
        /// And needs not be read from its beginning again, while what is there stays in service.
        var isWhole = false
        /// What it must still hold, or something newer, if it is the one that was read before.
        var expected: RecordPosition?
        var waiting: [@Sendable (Int32) -> Void] = []
    }

    private var followed: [Int32: Followed] = [:]

    var isEmpty: Bool { followed.isEmpty }
    var all: Set<Int32> { Set(followed.keys) }
    var whole: Set<Int32> { Set(followed.filter(\.value.isWhole).keys) }
    var areWhole: Bool { followed.values.allSatisfy(\.isWhole) }
    var served: Set<Int32> { Set(followed.filter(\.value.isServed).keys) }
    var areServed: Bool { followed.values.allSatisfy(\.isServed) }

    func contains(_ partition: Int32) -> Bool { followed[partition] != nil }

    /// False for one that is followed already.
    mutating func insert(_ partition: Int32) -> Bool {
        guard followed[partition] == nil else { return false }
        followed[partition] = Followed()
        return true
    }

    /// False for one that was not followed. Who waits for it waits in vain.
    mutating func remove(_ partition: Int32) -> Bool { followed.removeValue(forKey: partition) != nil }

    /// What is known of those that stay is kept.
    mutating func become(_ partitions: Range<Int32>) {
        followed = followed.filter { partitions.contains($0.key) }
        for partition in partitions { _ = insert(partition) }
    }

    /// Calls when the partition is served: at once if it is.
    mutating func wait(for partition: Int32, _ whenWhole: @escaping @Sendable (Int32) -> Void) {
        guard followed[partition]?.isServed == false else { return whenWhole(partition) }
        followed[partition]?.waiting.append(whenWhole)
    }

    /// They have been read to their ends. Gives who is to be told.
    mutating func complete(_ partitions: Set<Int32>) -> [(partition: Int32, whenWhole: @Sendable (Int32) -> Void)] {
        partitions.flatMap { partition in
            followed[partition]?.isWhole = true
            followed[partition]?.isServed = true
            let waiting = followed[partition]?.waiting ?? []
            followed[partition]?.waiting = []
            return waiting.map { (partition, $0) }
        }
    }

    /// They are read from their beginning. True if any of them is followed.
    mutating func forget(_ partitions: Set<Int32>) -> Bool {
        for partition in partitions { followed[partition]?.isWhole = false }
        return partitions.contains { followed[$0] != nil }
    }

    mutating func expect(_ last: RecordPosition?, in partition: Int32) { followed[partition]?.expected = last }

    func expected(in partition: Int32) -> RecordPosition? { followed[partition]?.expected }
}

/// How far the contacts of a topic have been read.
final class ContactProgress: Sendable {
    private struct State {
        var isRestored: Bool
        var count = 0
        var total = 0
    }

    private let topic: String
    private let state: Mutex<State>

    init(topic: String, isRestored: Bool = false) {
        self.topic = topic
        state = Mutex(State(isRestored: isRestored))
    }

    var isRestored: Bool { state.withLock { $0.isRestored } }

    /// At most so many records are to be read, after which others are awaited.
    func begin(total: Int, isRestored: Bool) {
        state.withLock { $0 = State(isRestored: isRestored, total: total) }
    }

    /// More is to be read; how much is not known yet.
    func awaitMore() { state.withLock { $0.isRestored = false } }

    func add(_ count: Int) { state.withLock { $0.count += count } }

    func end() { state.withLock { $0.isRestored = true } }

    /// What was read, and at most how much it will be: compaction leaves gaps.
    var records: (read: Int, total: Int) { state.withLock { ($0.count, $0.total) } }

    /// Why nobody should ask for contacts yet, or not for all of them.
    var reason: (word: String, sentence: String)? {
        state.withLock { state in
            guard !state.isRestored else { return nil }
            let sentence = "contacts are read from the topic \(topic): \(state.count) of at most \(state.total) records"
            return ("contacts-not-restored", sentence)
        }
    }
}
