import PushmillKafka
import PushmillStages
import Synchronization

/// What a shard's thread and other threads leave for each other. Whatever is posted for the shard wakes it.
final class ShardInbox: Sendable {
    private struct State {
        var results: [Int] = []
        var terminations = 0
    }

    /// The number of the shard.
    let shard: Int
    let signal = WakeSignal()
    let shown = FigureBox()
    private let state = Mutex(State())
    /// Something was posted: the shard looks every turn, and locks only then.
    private let hasNews = Atomic<Bool>(false)
    private let wasTerminated = Atomic<Bool>(false)
    /// The shard's thread is in a call of librdkafka that only brokers end.
    let isWithBrokers = Atomic<Bool>(false)
    /// The shard's thread has ended.
    let hasEnded = Atomic<Bool>(false)

    init(shard: Int) { self.shard = shard }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        hasNews.store(true, ordering: .releasing)
        signal.wake()
    }

    /// A stage has ended on the pool. Called by any thread.
    func postResult(_ entry: Int) { change { $0.results.append(entry) } }

    func postTermination() {
        wasTerminated.store(true, ordering: .sequentiallyConsistent)
        change { $0.terminations += 1 }
    }

    /// The shard was told to end, once or more.
    var isEnding: Bool { wasTerminated.load(ordering: .sequentiallyConsistent) }

    private var isEmpty: Bool { !hasNews.load(ordering: .acquiring) }

    func takeTerminations() -> Int {
        guard !isEmpty else { return 0 }
        return state.withLock { state in
            if state.results.isEmpty { hasNews.store(false, ordering: .releasing) }
            defer { state.terminations = 0 }
            return state.terminations
        }
    }

    func takeResults(into entries: inout [Int]) {
        guard !isEmpty else { return }
        state.withLock { state in
            entries.append(contentsOf: state.results)
            state.results.removeAll(keepingCapacity: true)
        }
    }
}
