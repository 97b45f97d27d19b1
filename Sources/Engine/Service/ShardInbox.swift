import PushmillKafka
import PushmillStages
import Synchronization

/// What other threads leave for a shard, which is woken for it.
final class ShardInbox: Sendable {
    private struct State {
        var results: [Int] = []
        var commands: [ShardCommand] = []
        var letters: [UInt64: HeldOutput] = [:]
        var letterTags: [UInt64] = []
    }

    /// The number of the shard.
    let shard: Int
    let signal = WakeSignal()
    private let state = Mutex(State())
    /// Something is there: the shard looks each turn, and locks only then.
    private let hasNews = Atomic<Bool>(false)

    init(shard: Int) { self.shard = shard }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        hasNews.store(true, ordering: .releasing)
        signal.wake()
    }

    /// A stage has ended on the pool; any thread.
    func postResult(_ entry: Int) { change { $0.results.append(entry) } }

    func post(_ command: ShardCommand) { change { $0.commands.append(command) } }

    func postLetter(_ letter: HeldOutput, tag: UInt64) {
        change { state in
            state.letters[tag] = letter
            state.letterTags.append(tag)
        }
    }

    // MARK: For the shard

    private var isEmpty: Bool { !hasNews.load(ordering: .acquiring) }

    func takeCommands(into commands: inout [ShardCommand]) {
        guard !isEmpty else { return }
        state.withLock { state in
            commands.append(contentsOf: state.commands)
            state.commands.removeAll(keepingCapacity: true)
            if state.results.isEmpty, state.letterTags.isEmpty { hasNews.store(false, ordering: .releasing) }
        }
    }

    func takeResults(into entries: inout [Int]) {
        guard !isEmpty else { return }
        state.withLock { state in
            entries.append(contentsOf: state.results)
            state.results.removeAll(keepingCapacity: true)
        }
    }

    func takeLetterTags() -> [UInt64] {
        guard !isEmpty else { return [] }
        return state.withLock { state in
            defer { state.letterTags.removeAll() }
            return state.letterTags
        }
    }

    func takeLetter(_ tag: UInt64) -> HeldOutput? { state.withLock { $0.letters.removeValue(forKey: tag) } }
}
