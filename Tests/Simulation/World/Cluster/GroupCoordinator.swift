package import PushmillKafka

package struct GroupTiming: Sendable {
    package var session: UInt64 = .seconds(3)
    package var heartbeat: UInt64 = .milliseconds(300)
    /// How long a rebalance waits for members: so long that who does not come for all that time has lost its session.
    package var rebalance: UInt64 = .seconds(10)
    package var initialDelay: UInt64 = .milliseconds(50)

    package init() {}
}

package protocol GroupClient: AnyObject {
    /// The next heartbeat has something to tell.
    func heartbeatSoon()
    /// Its heartbeats arrive.
    var isReachable: Bool { get }
    /// By which it sends them.
    var id: Int? { get }
}

/// The group as its coordinator has it: members, generations, and what was committed.
package final class GroupCoordinator {
    package enum JoinAnswer: Sendable, Equatable {
        case joined(member: Int, generation: Int, isLeader: Bool)
        case unknownMember
        /// Another has its static name.
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
        /// Makes void what was planned for its session's end.
        var contact = 0
        /// The group owes it an answer: its session does not end before that.
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
    /// The static names of all members that there were.
    private var names: [Int: String] = [:]
    private var stored = StoredGroup()
    var offsets = CommittedOffsets()

    init(timeline: Timeline, timing: GroupTiming) {
        self.timeline = timeline
        self.timing = timing
    }

    // MARK: Joining

    /// The answer comes when the round is complete. `member` is nil for one that has no id yet.
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
                // It says nothing new: the answer to its last join may have been lost.
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

    /// A static member is back in another process: what it had fences the old one. True where no rebalance is needed.
    private func replace(at index: Int, by member: Member) -> Bool {
        let old = members[index]
        // Its session does not end any more.
        old.contact += 1
        members[index] = member
        member.assignment = old.assignment
        if leader == old.id { leader = member.id }
        old.joined?(.fenced)
        old.synced?(.fenced)
        // Its next heartbeat tells it.
        old.client.heartbeatSoon()
        cluster?.witness?.expelled()
        watch(member)
        timeline.note(800, .fence, Int64(old.id), Int64(member.id))
        if state == .stable { store() }
        return state == .stable
    }

    /// Another has its static name.
    private func isFenced(_ id: Int) -> Bool {
        guard let name = names[id] else { return false }
        return members.contains { $0.instance == name }
    }

    /// The partitions that are no member's, of a group at rest.
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

    /// Static members keep their places until their sessions end, unless none has come.
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
            // Who has not come is told by its next heartbeat.
            if answer == nil { member.client.heartbeatSoon() }
        }
    }

    /// The last partitions of its topics are still to be added.
    func hide(_ count: Int) { partitions.removeLast(count) }

    /// Its leader has seen that partitions were added, and joins anew.
    func grow(by new: some Sequence<TopicPartition>) {
        partitions += new
        if state == .stable || state == .completing { prepare() }
    }

    private func becomeEmpty() {
        state = .empty
        store()
    }

    /// The leader's brings the assignment, which here is made for it; everyone's gets his part.
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

    /// What outlives a coordinator: the group as it was when it was at rest the last time.
    private struct StoredGroup {
        var generation = 0
        var leader = -1
        var members: [Member] = []
    }

    private func copies(_ members: [Member]) -> [Member] {
        members.map { member in
            let copy = Member(id: member.id, instance: member.instance, client: member.client)
            (copy.owned, copy.ownedGeneration) = (member.owned, member.ownedGeneration)
            copy.assignment = member.assignment
            return copy
        }
    }

    private func store() { stored = StoredGroup(generation: generation, leader: leader, members: copies(members)) }

    /// Another broker coordinates the group from now on: what it was about to do is forgotten, and who waits for an answer
    /// gets none.
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

    /// Removes whoever this client is a member as.
    package func expel(_ client: any GroupClient) {
        for member in members where member.client === client { expel(member) }
        // Its next heartbeat tells it.
        client.heartbeatSoon()
        settle()
    }

    /// Others will have its partitions before it knows.
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

    /// A client's heartbeats stop to arrive, or arrive again.
    package func reachabilityChanged(of client: any GroupClient) {
        for member in members where member.client === client { watch(member) }
    }

    /// No heartbeat is simulated while all arrive; where they stop, the last one was some time ago, unless its session has
    /// just begun.
    private func watch(_ member: Member, isNew: Bool = false) {
        member.contact += 1
        guard !isBeating(member), cluster?.isOut != true else { return }
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
