/// A process and its way to the brokers. Its work waits while it is frozen, and never happens once it is dead.
package final class Node {
    package let cluster: Cluster
    package let number: Int
    package private(set) var isAlive = true
    package private(set) var isFrozen = false
    package private(set) var isCut = false
    /// Of overlapping freezes, or cuts, the latest end counts.
    package var frozenUntil: UInt64 = 0
    package var cutUntil: UInt64 = 0
    /// Milliseconds that the process's clock is ahead of the brokers'.
    package var clockError: Int64 = 0
    package var network: NetworkConditions
    /// A fault that is injected into the process once, before or after a step of a transaction.
    package var interruption: Interruption?
    /// The process dies while its next transaction request is in flight; the request arrives `late` nanoseconds later.
    package var dying: (late: UInt64, happen: () -> Void)?
    /// Called when one of the members is told to give partitions back.
    package var atRevocation: (() -> Void)?
    private var held: [() -> Void] = []
    var members: [any GroupClient] = []
    var watchers: [() -> Void] = []

    package var timeline: Timeline { cluster.timeline }
    package var isReachable: Bool { isAlive && !isFrozen && !isCut }

    package init(cluster: Cluster, number: Int, network: NetworkConditions = NetworkConditions()) {
        self.cluster = cluster
        self.number = number
        self.network = network
    }

    package func after(_ delay: UInt64, _ body: @escaping () -> Void) {
        timeline.after(delay) { [self] in happen(body) }
    }

    private func happen(_ body: @escaping () -> Void) {
        guard isAlive else { return }
        if isFrozen { held.append(body) } else { body() }
    }

    package func freeze() {
        guard isAlive, !isFrozen else { return }
        isFrozen = true
        timeline.note(number, .freeze)
        reachabilityChanged()
    }

    /// What was held runs one after another, not at one moment.
    package func thaw() {
        guard isAlive, isFrozen else { return }
        isFrozen = false
        timeline.note(number, .thaw, Int64(held.count))
        let waiting = held
        held = []
        for (index, body) in waiting.enumerated() { after(UInt64(index + 1) * 5_000, body) }
        reachabilityChanged()
    }

    package func setCut(_ isCut: Bool) {
        guard isAlive, isCut != self.isCut else { return }
        self.isCut = isCut
        timeline.note(number, isCut ? .cut : .heal)
        reachabilityChanged()
    }

    /// The process loses memory and connections.
    package func kill() {
        guard isAlive else { return }
        timeline.note(number, .kill)
        isAlive = false
        held = []
        reachabilityChanged()
        members = []
        watchers = []
        dying = nil
    }

    /// The brokers became unavailable, or are back.
    package func outageChanged() { for watcher in watchers { watcher() } }

    private func reachabilityChanged() {
        for member in members {
            cluster.group.reachabilityChanged(of: member)
            if isReachable { member.heartbeatSoon() }
        }
        for watcher in watchers { watcher() }
    }
}

package struct Interruption {
    package enum Moment: CaseIterable, Sendable { case initialize, begin, addOffsets, commit, abort }

    package let moment: Moment
    /// True: after the brokers have done the step. False: before.
    package let isAfter: Bool
    package let happen: () -> Void
}

/// How requests fare between a process and the brokers.
package struct NetworkConditions: Sendable {
    /// Nanoseconds for each direction.
    package var trip: ClosedRange<UInt64> = .microseconds(100)...(.microseconds(800))
    /// Per thousand: how many requests, and how many answers, are lost; how many trips are slow.
    package var lost = 0
    package var slow = 5
    /// Per thousand: how many requests arrive 0.3 to 4 seconds late, usually after the sender has given up.
    package var stray = 0

    package init() {}
}

/// One connection: requests arrive in order, and so do answers.
package final class Connection {
    package let node: Node
    private var lastArrival: UInt64 = 0
    private var lastReturn: UInt64 = 0
    /// What is sent before this time is lost: the connection is broken, and the client does not know yet.
    private var brokenUntil: UInt64 = 0
    /// False for transactions: a late request of one transaction would end the next, which brokers before 4.0 cannot
    /// detect and no client can prevent.
    private let hasStrays: Bool

    package init(_ node: Node, hasStrays: Bool = true) {
        self.node = node
        self.hasStrays = hasStrays
    }

    private func trip() -> UInt64 {
        let network = node.network
        var time = node.timeline.dice.between(network.trip)
        if node.timeline.dice.chance(network.slow) {
            time += node.timeline.dice.between(.milliseconds(5)...(.milliseconds(80)))
        }
        return time
    }

    /// `apply` runs at the broker and returns nil for an error worth another attempt. `answered` runs in the process,
    /// with nil for such an error or if no answer has come within `patience`.
    package func request<Answer>(
        patience: UInt64, _ apply: @escaping (Cluster) -> Answer?, _ answered: @escaping (Answer?) -> Void
    ) {
        ask(patience: patience, isHeld: false, { cluster, reply in reply(apply(cluster)) }, answered)
    }

    /// Like `request`, for an answer that the broker may hold back: with `isHeld`, `patience` runs from the start.
    package func ask<Answer>(
        patience: UInt64, isHeld: Bool = true, _ apply: @escaping (Cluster, @escaping (Answer?) -> Void) -> Void,
        _ answered: @escaping (Answer?) -> Void
    ) {
        let (timeline, cluster, network) = (node.timeline, node.cluster, node.network)
        var isAnswered = false
        let answer: (Answer?) -> Void = { value in
            guard !isAnswered else { return }
            isAnswered = true
            answered(value)
        }
        let fail = { [node] in node.after(patience) { answer(nil) } }
        if isHeld { fail() }
        let sent = timeline.now
        if hasStrays, timeline.dice.chance(network.stray) {
            brokenUntil = max(brokenUntil, sent + patience)
            timeline.after(timeline.dice.between(.milliseconds(300)...(.seconds(4)))) {
                if !cluster.isOut { apply(cluster) { _ in } }
            }
            return isHeld ? () : fail()
        }
        let isLost = timeline.dice.chance(network.lost)
        let isAnswerLost = !isLost && timeline.dice.chance(network.lost)
        let arrival = max(timeline.now + trip(), lastArrival + 1)
        lastArrival = arrival
        timeline.at(arrival) { [self] in
            guard !isLost, sent >= brokenUntil, !cluster.isOut, !node.isCut else {
                // The client opens a new connection once it notices.
                if sent >= brokenUntil { brokenUntil = sent + patience }
                return isHeld ? () : fail()
            }
            apply(cluster) { [self] value in
                guard !isAnswerLost else {
                    brokenUntil = max(brokenUntil, timeline.now + patience)
                    return isHeld ? () : fail()
                }
                let back = max(timeline.now + trip(), lastReturn + 1)
                lastReturn = back
                node.after(back - timeline.now) { [self] in
                    if node.isCut { return isHeld ? () : fail() }
                    answer(value)
                }
            }
        }
    }
}
