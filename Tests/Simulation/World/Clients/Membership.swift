import PushmillEngine
package import PushmillKafka

/// A consumer's membership in its group, as librdkafka handles it: joins, syncs, and waits for the application's answer
/// to each assignment and revocation before it continues.
package final class Membership: GroupClient {
    package enum State: Sendable { case out, joining, syncing, stable, fenced, leaving, left }

    private enum Unanswered { case nothing, assigned([TopicPartition]), revoked, lost }

    package private(set) var state = State.out {
        didSet { if (state == .stable) != (oldValue == .stable) { node.cluster.group.reachabilityChanged(of: self) } }
    }
    package private(set) var id: Int?
    package private(set) var generation = -1
    package private(set) var owned: [TopicPartition] = []
    private var unanswered = Unanswered.nothing
    /// Assigned once the revoked partitions are given back.
    private var added: [TopicPartition] = []
    private var wantsRejoin = false
    /// The generation in which the member last learned its assignment. Sent with each join.
    private var toldGeneration = -1
    private var isLossPending = false
    /// The member ID that the application knows: the one at the last assignment.
    private var toldID: Int?
    private var isBeating = false
    private var attempt = 0
    private var silence = 0
    private var looksForOwners = false
    private let node: Node
    package let connection: Connection
    private let instance: String?
    /// A static member. As in librdkafka, it is told of no loss while the group rebalances.
    package var isStatic: Bool { instance != nil }
    private let tell: (ConsumerEvent) -> Void

    package init(_ node: Node, instance: String?, tell: @escaping (ConsumerEvent) -> Void) {
        self.node = node
        self.instance = instance
        self.tell = tell
        connection = Connection(node)
        node.members.append(self)
        node.watchers.append { [weak self] in self?.watchSilence() }
    }

    package var hasLeft: () -> Void = {}
    private var isGone: Bool { state == .left || state == .leaving || state == .fenced }
    /// A member that is joining sends no heartbeats.
    package var isReachable: Bool { node.isReachable && state == .stable }
    /// The application does not know the new member ID yet.
    package var hasNewMemberID: Bool { toldID.map { $0 != id } ?? false }
    package var isJoining: Bool { state == .joining || state == .syncing }
    private var session: UInt64 { node.cluster.group.timing.session }

    package func join() {
        guard !isGone, state != .joining else { return }
        guard case .nothing = unanswered else { return wantsRejoin = true }
        wantsRejoin = false
        state = .joining
        attempt += 1
        let (number, id, owned, generation) = (attempt, id, owned, toldGeneration)
        connection.ask(patience: node.cluster.group.timing.rebalance + session) { [self] cluster, reply in
            cluster.group.join(
                id, instance: instance, owned: owned, ownedGeneration: generation, client: self, answer: reply)
        } _: { [weak self] (answer: GroupCoordinator.JoinAnswer?) in
            guard let self, number == attempt, state == .joining else { return }
            joined(answer)
        }
        // A connection that breaks during the request is noticed before `patience` ends.
        node.after(.milliseconds(700)) { [weak self] in self?.tryAgain(number) }
    }

    private func tryAgain(_ number: Int) {
        guard number == attempt, state == .joining else { return }
        let isKnown = id.map { node.cluster.group.isAwaited($0) } ?? node.cluster.group.isAwaited(client: self)
        guard !isKnown else {
            return node.after(.milliseconds(700)) { [weak self] in self?.tryAgain(number) }
        }
        state = .out
        join()
    }

    private func joined(_ answer: GroupCoordinator.JoinAnswer?) {
        switch answer {
        case nil:
            state = .out
            join()
        case .fenced: lose(isFenced: true)
        case .unknownMember where isStatic:
            // A static member joins again without an ID, gets another one, and is told of no loss.
            id = nil
            state = .out
            join()
        case .unknownMember: lose()
        case .joined(let id, let generation, _):
            self.id = id
            self.generation = generation
            sync()
        }
    }

    private func sync() {
        guard let id else { return }
        state = .syncing
        attempt += 1
        let (number, generation) = (attempt, generation)
        connection.ask(patience: .milliseconds(900)) { cluster, reply in
            cluster.group.sync(id, generation: generation, answer: reply)
        } _: { [weak self] (answer: GroupCoordinator.SyncAnswer?) in
            guard let self, number == attempt, state == .syncing else { return }
            switch answer {
            case nil: sync()
            case .illegalGeneration: lose(isMember: true)
            case .unknownMember: lose()
            case .fenced: lose(isFenced: true)
            case .rebalance:
                state = .out
                join()
            case .assigned(let partitions): assigned(partitions)
            }
        }
    }

    private func assigned(_ partitions: [TopicPartition]) {
        state = .stable
        let revoked = owned.filter { !partitions.contains($0) }
        added = partitions.filter { !owned.contains($0) }
        if let toldID, toldID != id, !owned.isEmpty {
            // At least once, the shard repeats what it has published since.
            node.cluster.witness?.expelled()
            tell(.memberIDChanged)
        }
        toldID = id
        toldGeneration = generation
        if !revoked.isEmpty {
            unanswered = .revoked
            wantsRejoin = true
            node.timeline.note(node.number, .revoked, Int64(revoked.count), Int64(generation))
            tell(.revoked(revoked))
            node.atRevocation?()
        } else if !added.isEmpty {
            assignAdded()
        }
    }

    private func assignAdded() {
        unanswered = .assigned(added)
        node.timeline.note(node.number, .assigned, Int64(added.count), Int64(generation), Int64(added[0].partition))
        let partitions = added
        added = []
        tell(.assigned(partitions))
    }

    // MARK: The application's answers

    package func acceptAssignment() {
        guard case .assigned(let partitions) = unanswered else { return }
        unanswered = .nothing
        owned += partitions
        if isStatic, !exchange(&looksForOwners, with: true) { lookForOwners() }
        goOn()
    }

    /// Like `OwnerWatch`.
    private func lookForOwners(_ seen: Set<TopicPartition> = [], count: Int = 0) {
        node.after(.seconds(2)) { [weak self] in
            guard let self, !isGone else { return }
            connection.request(patience: .seconds(5)) { cluster in
                cluster.group.unowned
            } _: { [weak self] answer in
                guard let self, !isGone else { return }
                guard let unowned = answer ?? nil else { return lookForOwners() }
                guard !unowned.isEmpty else { return }
                let count = unowned == seen ? count + 1 : 1
                guard count == 4 else { return lookForOwners(unowned, count: count) }
                // The real client also waits until a rebalance has ended.
                if state == .stable { join() }
                lookForOwners()
            }
        }
    }

    package func giveBack(_ partitions: [TopicPartition]) {
        owned.removeAll { partitions.contains($0) }
        switch unanswered {
        case .nothing: return
        // Lost before the assignment was accepted: nothing of it was begun.
        case .assigned: return
        case .revoked where !added.isEmpty && !isLossPending:
            unanswered = .nothing
            return assignAdded()
        case .revoked, .lost: unanswered = .nothing
        }
        goOn()
    }

    private func goOn() {
        if isLossPending {
            isLossPending = false
            return lose()
        }
        if wantsRejoin || id == nil { join() }
    }

    /// Owned partitions may be other members' already. With `isMember` the ID is kept, and the generation given up.
    private func lose(isFenced: Bool = false, isMember: Bool = false) {
        if isMember { generation = -1 } else { id = nil }
        state = isFenced ? .fenced : .out
        added = []
        wantsRejoin = true
        guard case .nothing = unanswered else {
            // A static member comes back under another ID and keeps its partitions.
            isLossPending = !isStatic || isFenced
            return
        }
        guard !owned.isEmpty else {
            // The real client reports a fatal error, which wakes its thread: the member must be replaced.
            return isFenced ? tell(.failed(KafkaError("fenced"))) : join()
        }
        unanswered = .lost
        toldID = nil
        node.timeline.note(node.number, .lost, Int64(owned.count))
        tell(.lost(owned))
    }

    // MARK: Heartbeats

    package func heartbeatSoon() {
        guard !isBeating, state == .stable || state == .syncing else { return }
        isBeating = true
        let longest = node.cluster.group.timing.heartbeat
        node.after(node.timeline.dice.between(.milliseconds(1)...longest)) { [weak self] in self?.beat() }
    }

    private func beat() {
        isBeating = false
        guard let id, state == .stable else {
            if state == .syncing { heartbeatSoon() }
            return
        }
        let generation = generation
        connection.request(patience: .milliseconds(500)) { cluster in
            cluster.group.heartbeat(id, generation: generation)
        } _: { [weak self] answer in
            guard let self, self.id == id, state == .stable else { return }
            switch answer {
            case nil: heartbeatSoon()
            case .accepted: silence += 1
            case .rebalance: join()
            case .illegalGeneration: lose(isMember: true)
            case .unknownMember: lose()
            case .fenced: lose(isFenced: true)
            }
        }
    }

    /// A member that hears nothing for the length of a session considers itself lost.
    package func watchSilence() {
        silence += 1
        guard node.isAlive, node.isCut || node.cluster.isOut else { return }
        let number = silence
        node.after(session) { [weak self] in
            guard let self, silence == number, !isGone, id != nil else { return }
            lose()
        }
    }

    // MARK: Leaving

    package func leave() {
        guard state != .left, state != .leaving else { return }
        owned = []
        unanswered = .nothing
        let id = id
        self.id = nil
        attempt += 1
        state = .leaving
        let end = { [weak self] in
            self?.state = .left
            self?.hasLeft()
        }
        // The group keeps a static member's place.
        guard let id, instance == nil else { return node.after(.milliseconds(1), end) }
        connection.request(patience: .milliseconds(500)) { cluster in
            cluster.group.leave(id)
        } _: { _ in
            end()
        }
    }
}

extension GroupCoordinator {
    /// The member's join is held until the round is complete.
    func isAwaited(_ id: Int) -> Bool { members.contains { $0.id == id && $0.joined != nil } }

    func isAwaited(client: any GroupClient) -> Bool { members.contains { $0.client === client && $0.joined != nil } }
}
