package import PushmillKafka

package struct GroupTiming: Sendable {
    package var session: UInt64 = .seconds(3)
    package var heartbeat: UInt64 = .milliseconds(300)
    /// How long a rebalance waits for members.
    package var rebalance: UInt64 = .seconds(5)
    package var initialDelay: UInt64 = .milliseconds(50)

    package init() {}
}

package protocol GroupClient: AnyObject {
    /// The next heartbeat has something to tell.
    func heartbeatSoon()
    /// Its heartbeats arrive.
    var isReachable: Bool { get }
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
        case unknownMember
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
    private var ids = 0
    private var rounds = 0
    private var fenced: [Int] = []
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
                return answer(fenced.contains(id) ? .fenced : .unknownMember)
            }
            member = known
        } else {
            ids += 1
            member = Member(id: ids, instance: instance, client: client)
            if let instance, let index = members.firstIndex(where: { $0.instance == instance }) {
                if replace(at: index, by: member) {
                    return answer(.joined(member: member.id, generation: generation, isLeader: index == 0))
                }
            } else {
                members.append(member)
            }
            watch(member)
        }
        timeline.note(800, .join, Int64(member.id), Int64(owned.count))
        member.owned = owned
        member.ownedGeneration = ownedGeneration
        if state != .preparing { prepare() }
        member.joined = answer
        member.hasJoined = true
        completeIfAllJoined()
    }

    /// A static member is back in another process: what it had fences the old one. True where no rebalance is needed.
    private func replace(at index: Int, by member: Member) -> Bool {
        let old = members[index]
        fenced.append(old.id)
        // Its session does not end any more.
        old.contact += 1
        members[index] = member
        member.assignment = old.assignment
        old.joined?(.fenced)
        old.synced?(.unknownMember)
        // Its next heartbeat tells it.
        old.client.heartbeatSoon()
        cluster?.witness?.expelled()
        watch(member)
        timeline.note(800, .fence, Int64(old.id), Int64(member.id))
        return state == .stable
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
            member.synced?(.rebalance)
            member.synced = nil
            member.client.heartbeatSoon()
        }
        if delay > 0 {
            timeline.after(delay) { [weak self] in self?.completeIfAllJoined() }
        }
        opensAt = timeline.now + delay
        timeline.after(timing.rebalance) { [weak self] in
            guard let self, state == .preparing, rounds == round else { return }
            for member in members where !member.hasJoined { expel(member) }
            completeIfAllJoined()
        }
    }

    private var opensAt: UInt64 = 0

    private func completeIfAllJoined() {
        guard state == .preparing, timeline.now >= opensAt else { return }
        guard !members.isEmpty else { return state = .empty }
        guard members.allSatisfy(\.hasJoined) else { return }
        generation += 1
        state = .completing
        timeline.note(800, .generation, Int64(generation), Int64(members.count))
        for (index, member) in members.enumerated() {
            let answer = member.joined
            member.joined = nil
            answer?(.joined(member: member.id, generation: generation, isLeader: index == 0))
        }
    }

    /// The leader's brings the assignment, which here is made for it; everyone's gets his part.
    package func sync(_ id: Int, generation: Int, answer: @escaping (SyncAnswer) -> Void) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return answer(.unknownMember) }
        guard generation == self.generation else { return answer(.rebalance) }
        switch state {
        case .empty, .preparing: answer(.rebalance)
        case .stable: answer(.assigned(members[index].assignment))
        case .completing:
            members[index].synced = answer
            guard index == 0 else { return }
            assign()
            state = .stable
            for member in members {
                let answer = member.synced
                member.synced = nil
                answer?(.assigned(member.assignment))
            }
        }
    }

    // MARK: Members

    package func heartbeat(_ id: Int, generation: Int) -> MemberAnswer {
        let answer = check(id, generation)
        guard answer == .accepted else { return answer }
        return state == .preparing ? .rebalance : .accepted
    }

    func check(_ id: Int, _ generation: Int) -> MemberAnswer {
        guard members.contains(where: { $0.id == id }) else { return fenced.contains(id) ? .fenced : .unknownMember }
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
            state = .empty
            generation += 1
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

    /// No heartbeat is simulated while all arrive; where they stop, the last one was some time ago.
    private func watch(_ member: Member) {
        member.contact += 1
        guard !member.client.isReachable, cluster?.isOut != true else { return }
        let contact = member.contact
        let ago = timeline.dice.between(0...timing.heartbeat)
        timeline.after(timing.session - ago) { [weak self] in
            guard let self, member.contact == contact else { return }
            expel(member)
            settle()
        }
    }

    func setOut(_ isOut: Bool) { for member in members { watch(member) } }

    func letGo() { members = [] }
}
