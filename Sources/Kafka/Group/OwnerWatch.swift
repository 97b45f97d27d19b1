internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// Looks whether every partition has an owner in the group, once this member, which is static, has come. One that goes away
/// after it gave a partition back, and before it joined anew, comes back to what the group knows of it: nobody calls for
/// the rebalance that would give the partition to another (KIP-345 beside KIP-429). Then this member does. On a queue of
/// its own: librdkafka's questions for that block.
final class OwnerWatch: Sendable {
    /// A partition is nobody's for as long as its former owner finishes it, too.
    private static var looksInARow: Int { 4 }
    private static var pause: Double { 2 }
    /// Brokers may not tell: at most so many looks.
    private static var patience: Int { 60 }

    private struct State {
        var isBegun = false
        var isClosed = false
        var unowned: [TopicPartition] = []
    }

    private let client: Client
    private let group: String
    private let signal: WakeSignal
    private let topics: [String]
    private let queue = DispatchQueue(label: "pushmill.owners")
    private let state = Mutex(State())
    private let hasNews = Atomic<Bool>(false)

    init(_ client: Client, group: String, topics: [String], _ signal: WakeSignal) {
        self.client = client
        self.group = group
        self.topics = topics
        self.signal = signal
    }

    /// The member was told what is its own.
    func begin() {
        guard state.withLock({ !exchange(&$0.isBegun, with: true) }) else { return }
        lookLater(Look(), left: Self.patience)
    }

    /// Looks no more. What waits to look has its own hold on the client until it sees that.
    func close() { state.withLock { $0.isClosed = true } }

    func take(into events: inout [ConsumerEvent]) {
        guard hasNews.exchange(false, ordering: .acquiringAndReleasing) else { return }
        events.append(.unowned(state.withLock { exchange(&$0.unowned, with: []) }))
    }

    /// What was seen so far.
    private struct Look {
        var unowned: Set<TopicPartition> = []
        var count = 0
        var isByPatterns = false
    }

    private func lookLater(_ seen: Look, left: Int) {
        guard left > 0 else { return }
        queue.asyncAfter(deadline: .now() + Self.pause) { self.look(seen, left: left - 1) }
    }

    private func look(_ seen: Look, left: Int) {
        guard state.withLock({ !$0.isClosed }) else { return }
        var now = seen
        if seen.isByPatterns { now.isByPatterns = !subscribe(toPatterns: false) }
        let unowned = client.unowned(ofGroup: group, topics: topics, milliseconds: 5000)
        if unowned?.isEmpty == true, !now.isByPatterns { return }
        now.count = unowned == seen.unowned ? seen.count + 1 : 1
        now.unowned = unowned ?? []
        if now.count >= Self.looksInARow, !now.unowned.isEmpty, subscribe(toPatterns: true) {
            tell(now.unowned)
            now = Look(isByPatterns: true)
        }
        lookLater(now, left: left)
    }

    private func tell(_ unowned: Set<TopicPartition>) {
        state.withLock { $0.unowned = Array(unowned) }
        hasNews.store(true, ordering: .releasing)
        signal.wake()
    }

    /// librdkafka joins anew for patterns, since it asks for the names of all topics then, and tells what it owns: that is
    /// why brokers rebalance (`rd_kafka_cgrp_modify_subscription`). What they match is the same. False where it is to be
    /// tried again.
    func subscribe(toPatterns isPattern: Bool) -> Bool {
        // Held: nothing is asked of a member that leaves. librdkafka answers at once.
        state.withLock { state in
            // Of one that joins without a name librdkafka would end the process, and it brings a rebalance by itself.
            guard !state.isClosed, nameOfMember(client.handle)?.isEmpty == false else { return false }
            return (try? client.subscribe(to: isPattern ? topics.map(Self.pattern) : topics)) != nil
        }
    }

    /// Of a topic's name only dots mean something else.
    private static func pattern(_ topic: String) -> String {
        "^\(topic.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "[.]"))$"
    }
}
