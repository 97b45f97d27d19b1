internal import CPushmillRdKafka
internal import Dispatch
internal import Synchronization

/// Checks that every partition has an owner in the group, once this static member has joined. If a static member goes
/// away after it gave a partition back and before it rejoined, it returns to the assignment that the group knows: no
/// member requests the rebalance that would give the partition to another (KIP-345 with KIP-429). In that case this
/// member requests it. Uses its own dispatch queue because librdkafka's calls block.
final class OwnerWatch: Sendable {
    /// A partition also has no owner while its former owner finishes it.
    private static var looksInARow: Int { 4 }
    private static var pause: Double { 2 }
    /// The most looks: brokers may never report the owners.
    private static var patience: Int { 60 }

    private struct State {
        var isBegun = false
        var isClosed = false
    }

    private let client: Client
    private let group: String
    private let answers: Mailbox<ConsumerEvent>
    private let topics: [String]
    private let queue = DispatchQueue(label: "pushmill.owners")
    private let state = Mutex(State())

    init(_ client: Client, group: String, topics: [String], _ answers: Mailbox<ConsumerEvent>) {
        self.client = client
        self.group = group
        self.topics = topics
        self.answers = answers
    }

    /// The member has been told its partitions.
    func begin() {
        guard state.withLock({ !exchange(&$0.isBegun, with: true) }) else { return }
        lookLater(Look(), left: Self.patience)
    }

    /// Stops looking. Work that is still queued keeps the client alive until it sees that.
    func close() { state.withLock { $0.isClosed = true } }

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
            answers.post(.unowned(Array(now.unowned)))
            now = Look(isByPatterns: true)
        }
        lookLater(now, left: left)
    }

    /// A pattern makes librdkafka rejoin, because it asks for all topic names, and report what it owns, which makes
    /// brokers rebalance (`rd_kafka_cgrp_modify_subscription`). The patterns match the same topics. False if it must be
    /// tried again.
    func subscribe(toPatterns isPattern: Bool) -> Bool {
        // Under the lock: nothing is asked of a member that is leaving. librdkafka answers at once.
        state.withLock { state in
            // To subscribe while joining without an ID would make librdkafka abort; such a join rebalances anyway.
            guard !state.isClosed, nameOfMember(client.handle)?.isEmpty == false else { return false }
            return (try? client.subscribe(to: isPattern ? topics.map(Self.pattern) : topics)) != nil
        }
    }

    /// In a pattern, the only characters of topic names with a special meaning are dots.
    private static func pattern(_ topic: String) -> String {
        "^\(topic.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "[.]"))$"
    }
}
