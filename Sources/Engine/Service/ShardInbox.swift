import PushmillKafka
import PushmillStages
import Synchronization

/// What a shard's thread and other threads leave for each other. Whatever is posted for the shard wakes it.
final class ShardInbox: Sendable {
    /// The number of the shard.
    let shard: Int
    let signal: WakeSignal
    /// Entries whose stage has ended on the pool.
    let results: Mailbox<Int>
    let shown = FigureBox()
    private let terminations = Atomic<Int>(0)
    private let wasTerminated = Atomic<Bool>(false)
    /// The shard's thread has ended.
    let hasEnded = Atomic<Bool>(false)

    init(shard: Int) {
        self.shard = shard
        signal = WakeSignal()
        results = Mailbox(signal)
    }

    func postTermination() {
        wasTerminated.store(true, ordering: .sequentiallyConsistent)
        terminations.add(1, ordering: .sequentiallyConsistent)
        signal.wake()
    }

    /// The shard was told to end, once or more.
    var isEnding: Bool { wasTerminated.load(ordering: .sequentiallyConsistent) }

    /// How often it was told so since the last call.
    func takeTerminations() -> Int { isEnding ? terminations.exchange(0, ordering: .sequentiallyConsistent) : 0 }
}
