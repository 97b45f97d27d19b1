package import PushmillKafka

package struct GroupTiming: Sendable {
    package var session: UInt64 = .seconds(3)
    package var heartbeat: UInt64 = .milliseconds(300)
    /// How long a rebalance waits for members. A member that stays away that long has lost its session.
    package var rebalance: UInt64 = .seconds(10)
    package var initialDelay: UInt64 = .milliseconds(50)

    package init() {}
}

package protocol GroupClient: AnyObject {
    /// The coordinator has news for the next heartbeat.
    func heartbeatSoon()
    /// The client's heartbeats arrive.
    var isReachable: Bool { get }
    /// The member ID with which it sends heartbeats.
    var id: Int? { get }
}

/// The group from its coordinator's view: members, generations, and committed offsets.
package final class GroupCoordinator {
    package enum JoinAnswer: Sendable, Equatable {
        case joined(member: Int, generation: Int, isLeader: Bool)
        case unknownMember
        /// Another member has its static name.
        case fenced
    }

    package enum SyncAnswer: Sendable, Equatable {
        case assigned([TopicPartition])
        case rebalance
        case illegalGeneration
        case unknownMember
        case fenced
    }

    package enum MemberAnswer: Sendable, Equatable {
        case accepted
        case rebalance
        case illegalGeneration
        case unknownMember
        case fenced
    }

    package enum State: Sendable { case empty, preparing, completing, stable }

    final class Member {
        let id: Int
        let instance: String?
        let client: any GroupClient
        var owned: [TopicPartition] = []
        var ownedGeneration = -1
        var assignment: [TopicPartition] = []
        var joined: ((JoinAnswer) -> Void)?
        var synced: ((SyncAnswer) -> Void)?
        var hasJoined = false
        /// Grows with each contact, which voids a planned end of the session.
        var contact = 0
        /// The end of its session is planned.
        var isWatched = false
        /// The group owes the member an answer: its session does not end before that.
        var isWaiting: Bool { joined != nil || synced != nil }

        init(id: Int, instance: String?, client: any GroupClient) {
            self.id = id
            self.instance = instance
            self.client = client
        }
    }

    weak var cluster: Cluster?
    package internal(set) var partitions: [TopicPartition] = []
    package private(set) var state = State.empty
    package private(set) var generation = 0
    package var memberCount: Int { members.count }
    let timeline: Timeline
    let timing: GroupTiming
    private(set) var members: [Member] = []
    private var leader = -1
    private var ids = 0
    private var rounds = 0
    /// The static names of all members, including former ones.
    private var names: [Int: String] = [:]
    private var stored = StoredGroup()
    var offsets = CommittedOffsets()

    init(timeline: Timeline, timing: GroupTiming) {
        self.timeline = timeline
        self.timing = timing
    }

    // MARK: Joining

    /// Answers when the round is complete. `id` is nil for a member that has none yet.
    package func join(
        _ id: Int?, instance: String?, owned: [TopicPartition], ownedGeneration: Int, client: any GroupClient,
        answer: @escaping (JoinAnswer) -> Void
    ) {
        let member: Member
        if let id {
            guard let known = members.first(where: { $0.id == id }) else {
                return answer(isFenced(id) ? .fenced : .unknownMember)
            }
            member = known
            let isSame = known.owned == owned && known.ownedGeneration == ownedGeneration
            if isSame, state == .completing || state == .stable && id != leader {
                // The join says nothing new: the answer to the last one may have been lost.
                timeline.note(800, .join, Int64(id), Int64(owned.count), 1)
                return answer(.joined(member: id, generation: generation, isLeader: id == leader))
            }
        } else {
            ids += 1
            member = Member(id: ids, instance: instance, client: client)
            names[ids] = instance
            (member.owned, member.ownedGeneration) = (owned, ownedGeneration)
            if let instance, let index = members.firstIndex(where: { $0.instance == instance }) {
                if replace(at: index, by: member) {
                    return answer(.joined(member: member.id, generation: generation, isLeader: false))
                }
            } else {
                members.append(member)
            }
        }
        timeline.note(800, .join, Int64(member.id), Int64(owned.count))
        (member.owned, member.ownedGeneration) = (owned, ownedGeneration)
        if state != .preparing { prepare() }
        member.joined = answer
        member.hasJoined = true
        completeIfAllJoined()
    }

    /// A static member is back in another process, which fences the old one. True if no rebalance is needed.
    private func replace(at index: Int, by member: Member) -> Bool {
        let old = members[index]
        // Cancels the end of the old member's session.
        old.contact += 1
        members[index] = member
        member.assignment = old.assignment
        if leader == old.id { leader = member.id }
        old.joined?(.fenced)
        old.synced?(.fenced)
        // The client learns it from its next heartbeat.
        old.client.heartbeatSoon()
        cluster?.witness?.expelled()
        watch(member)
        timeline.note(800, .fence, Int64(old.id), Int64(member.id))
        if state == .stable { store() }
        return state == .stable
    }

    /// Another member has its static name.
    private func isFenced(_ id: Int) -> Bool {
        guard let name = names[id] else { return false }
        return members.contains { $0.instance == name }
    }

    /// The partitions without an owner; nil unless the group is stable.
    package var unowned: Set<TopicPartition>? {
        state == .stable ? Set(partitions).subtracting(members.flatMap(\.assignment)) : nil
    }

    private func prepare() {
        let delay = state == .empty ? timing.initialDelay : 0
        state = .preparing
        rounds += 1
        let round = rounds
        for member in members {
            member.hasJoined = false
            if let synced = member.synced.take() {
                watch(member, isNew: true)
                synced(.rebalance)
            }
            member.client.heartbeatSoon()
        }
        if delay > 0 {
            timeline.after(delay) { [weak self] in self?.completeIfAllJoined() }
        }
        opensAt = timeline.now + delay
        timeline.after(timing.rebalance) { [weak self] in self?.endRound(round) }
    }

    /// Static members keep their places until their sessions end. If no member has come, the round goes on.
    private func endRound(_ round: Int) {
        guard state == .preparing, rounds == round else { return }
        for member in members where !member.hasJoined && member.instance == nil { expel(member) }
        guard members.isEmpty || members.contains(where: \.hasJoined) else {
            return timeline.after(timing.rebalance) { [weak self] in self?.endRound(round) }
        }
        complete()
    }

    private var opensAt: UInt64 = 0

    private func completeIfAllJoined() {
        guard state == .preparing, timeline.now >= opensAt else { return }
        guard members.allSatisfy(\.hasJoined) else { return }
        complete()
    }

    private func complete() {
        guard !members.isEmpty else { return becomeEmpty() }
        generation += 1
        state = .completing
        if !members.contains(where: { $0.id == leader && $0.hasJoined }) {
            leader = members.first(where: \.hasJoined)?.id ?? -1
        }
        timeline.note(800, .generation, Int64(generation), Int64(members.count))
        for member in members {
            let answer = member.joined
            member.joined = nil
            watch(member, isNew: true)
            answer?(.joined(member: member.id, generation: generation, isLeader: member.id == leader))
            // A member that has not come learns of it from its next heartbeat.
            if answer == nil { member.client.heartbeatSoon() }
        }
    }

    /// Hides the last partitions, which are yet to be added.
    func hide(_ count: Int) { partitions.removeLast(count) }

    /// The group's leader has seen the added partitions and rejoins.
    func grow(by new: some Sequence<TopicPartition>) {
        partitions += new
        if state == .stable || state == .completing { prepare() }
    }

    /// The group's leader has seen that the input has lost its last partitions, and rejoins.
    func shrink(by count: Int) {
        hide(count)
        grow(by: [])
    }

    private func becomeEmpty() {
        state = .empty
        store()
    }

    /// The leader's request brings the assignment, which is computed here; every member is answered with its part.
    package func sync(_ id: Int, generation: Int, answer: @escaping (SyncAnswer) -> Void) {
        guard let member = members.first(where: { $0.id == id }) else {
            return answer(isFenced(id) ? .fenced : .unknownMember)
        }
        guard generation == self.generation else { return answer(.illegalGeneration) }
        switch state {
        case .empty, .preparing: answer(.rebalance)
        case .stable: answer(.assigned(member.assignment))
        case .completing:
            member.synced = answer
            guard id == leader else { return }
            assign()
            state = .stable
            store()
            for member in members {
                let answer = member.synced
                member.synced = nil
                watch(member, isNew: true)
                answer?(.assigned(member.assignment))
            }
        }
    }

    // MARK: Another coordinator

    /// What survives a change of coordinator: the group as it was when it was last stable.
    private struct StoredGroup {
        var generation = 0
        var leader = -1
        var members: [Member] = []
        var partitions: [TopicPartition] = []
    }

    private func copies(_ members: [Member]) -> [Member] {
        members.map { member in
            let copy = Member(id: member.id, instance: member.instance, client: member.client)
            (copy.owned, copy.ownedGeneration) = (member.owned, member.ownedGeneration)
            copy.assignment = member.assignment
            return copy
        }
    }

    private func store() {
        stored = StoredGroup(
            generation: generation, leader: leader, members: copies(members), partitions: partitions)
    }

    /// Another broker becomes the coordinator. A round under way is forgotten, and members that wait for an answer get
    /// none.
    package func move() {
        for member in members { member.contact += 1 }
        cluster?.witness?.expelled()
        rounds += 1
        (generation, leader, members) = (stored.generation, stored.leader, copies(stored.members))
        state = members.isEmpty ? .empty : .stable
        for member in members {
            watch(member, isNew: true)
            member.client.heartbeatSoon()
        }
        // The leader saw that the input's partitions have changed, and rejoins here.
        if state == .stable, stored.partitions != partitions { prepare() }
    }

    // MARK: Members

    package func heartbeat(_ id: Int, generation: Int) -> MemberAnswer {
        let answer = check(id, generation)
        guard answer == .accepted else { return answer }
        return state == .preparing ? .rebalance : .accepted
    }

    func check(_ id: Int, _ generation: Int) -> MemberAnswer {
        guard members.contains(where: { $0.id == id }) else { return isFenced(id) ? .fenced : .unknownMember }
        return generation == self.generation ? .accepted : .illegalGeneration
    }

    package func leave(_ id: Int) {
        guard let member = members.first(where: { $0.id == id }) else { return }
        remove(member)
        settle()
    }

    /// Removes every member that belongs to this client.
    package func expel(_ client: any GroupClient) {
        for member in members where member.client === client { expel(member) }
        // The client learns it from its next heartbeat.
        client.heartbeatSoon()
        settle()
    }

    /// Others get the member's partitions before it knows.
    private func expel(_ member: Member) {
        cluster?.witness?.expelled()
        remove(member)
    }

    private func remove(_ member: Member) {
        members.removeAll { $0 === member }
        member.contact += 1
        timeline.note(800, .memberGone, Int64(member.id))
        member.joined?(.unknownMember)
        member.synced?(.unknownMember)
        member.joined = nil
        member.synced = nil
    }

    private func settle() {
        if members.isEmpty {
            generation += 1
            becomeEmpty()
        } else if state == .preparing {
            completeIfAllJoined()
        } else {
            prepare()
        }
    }

    /// A client's heartbeats stop arriving, or arrive again.
    package func reachabilityChanged(of client: any GroupClient) {
        for member in members where member.client === client { watch(member) }
    }

    /// Heartbeats are not simulated while all of them arrive. When they stop, the last one was up to an interval ago,
    /// unless the session has just begun.
    private func watch(_ member: Member, isNew: Bool = false) {
        let isSilent = !isBeating(member) && cluster?.isOut != true
        // What else happens to a silent member does not prolong its session.
        if isSilent, member.isWatched, !isNew { return }
        member.contact += 1
        member.isWatched = isSilent
        guard isSilent else { return }
        let contact = member.contact
        let ago = isNew ? 0 : timeline.dice.between(0...timing.heartbeat)
        timeline.after(timing.session - ago) { [weak self] in
            guard let self, member.contact == contact, !member.isWaiting, !isBeating(member) else { return }
            expel(member)
            settle()
        }
    }

    private func isBeating(_ member: Member) -> Bool { member.client.isReachable && member.client.id == member.id }

    func setOut(_ isOut: Bool) { for member in members { watch(member) } }

    func letGo() { (members, stored) = ([], StoredGroup()) }
}
