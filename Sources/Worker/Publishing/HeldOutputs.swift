import Synchronization

/// What the outputs of one lane, or of refusals, wait in. A lane shares it with the watchdog, which goes on where a stage
/// holds the lane's thread.
final class HeldOutputs: Sendable {
    struct Queues: Sendable {
        /// In the order of their recipients: notifications, and dead letters that were counted, since what was counted
        /// later is not done before them.
        var ordered: [HeldOutput] = []
        /// These hold up no other when their topic is away.
        var letters: [HeldOutput] = []
        /// librdkafka itself did not take the first of a queue.
        var isRefused = false
    }

    private let queues = Mutex(Queues())
    private let orderedCount = Atomic<Int>(0)
    private let letterCount = Atomic<Int>(0)

    var hasOrdered: Bool { orderedCount.load(ordering: .acquiring) > 0 }
    var hasLetters: Bool { letterCount.load(ordering: .acquiring) > 0 }
    var isEmpty: Bool { !hasOrdered && !hasLetters }

    func withQueues(_ body: (inout Queues) -> Void) {
        queues.withLock { queues in
            body(&queues)
            orderedCount.store(queues.ordered.count, ordering: .releasing)
            letterCount.store(queues.letters.count, ordering: .releasing)
        }
    }
}
