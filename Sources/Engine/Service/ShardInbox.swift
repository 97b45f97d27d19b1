import PushmillKafka
import PushmillStages
import Synchronization

/// What a shard's thread and other threads leave for each other. Whatever is posted for the shard wakes it.
final class ShardInbox: Sendable {
    private struct State {
        var results: [Int] = []
        var terminations = 0

        var isEmpty: Bool { results.isEmpty && terminations == 0 }
    }

    /// The number of the shard.
    let shard: Int
    let signal = WakeSignal()
    let shown = FigureBox()
    private let state = Mutex(State())
    /// Something was posted: the shard looks every turn, and locks only then.
    private let hasNews = Atomic<Bool>(false)
    private let wasTerminated = Atomic<Bool>(false)
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

    func takeTerminations() -> Int { take { exchange(&$0.terminations, with: 0) } ?? 0 }

    func takeResults(into entries: inout [Int]) {
        _ = take { state in
            entries.append(contentsOf: state.results)
            state.results.removeAll(keepingCapacity: true)
        }
    }

    /// nil if nothing was posted since everything was taken.
    private func take<Result>(_ body: (inout State) -> Result) -> Result? {
        guard hasNews.load(ordering: .acquiring) else { return nil }
        return state.withLock { state in
            defer { if state.isEmpty { hasNews.store(false, ordering: .releasing) } }
            return body(&state)
        }
    }
}
