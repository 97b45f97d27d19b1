import Synchronization

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
