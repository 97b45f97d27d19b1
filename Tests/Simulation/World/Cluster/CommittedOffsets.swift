package import PushmillKafka

/// What the group has committed, and what open transactions would commit for it.
struct CommittedOffsets {
    var stored: [Position] = []
    var pending: [(transaction: Int, positions: [Position])] = []
    /// Commits of these partitions are denied, as if the brokers did not know them or an access list forbade it.
    var denied: Set<TopicPartition> = []

    mutating func store(_ positions: [Position]) {
        for position in positions {
            if let index = stored.firstIndex(where: { $0.partition == position.partition }) {
                stored[index] = position
            } else {
                stored.append(position)
            }
        }
    }

    /// Brokers do this when a topic is deleted.
    mutating func forget(topic: String) { stored.removeAll { $0.partition.topic == topic } }

    func isPending(_ partition: TopicPartition) -> Bool {
        pending.contains { $0.positions.contains { $0.partition == partition } }
    }
}

extension GroupCoordinator {
    /// How many characters a commit's metadata may have: the brokers' default.
    package static var metadataLimit: Int { 4_096 }

    package enum CommitAnswer: Sendable, Equatable {
        /// The refused positions, whose metadata is too long, are not committed.
        case accepted(refused: [TopicPartition])
        case refused(MemberAnswer)
        /// One partition is not committed, and the others are. A client reports its error for all of them.
        case denied
    }

    package func commit(_ positions: [Position], member: Int, generation: Int) -> CommitAnswer {
        let answer = checkCommit(member, generation)
        guard answer == .accepted else {
            timeline.note(800, .commitRefused, Int64(member), Int64(generation))
            return .refused(answer)
        }
        let (taken, refused) = split(positions.filter { !offsets.denied.contains($0.partition) })
        offsets.store(taken)
        for position in taken {
            timeline.note(800, .commit, Int64(position.partition.partition), position.offset, Int64(member))
        }
        cluster?.witness?.committed(taken, transaction: 0)
        return positions.count > taken.count + refused.count ? .denied : .accepted(refused: refused)
    }

    /// Held until the transaction ends. Without the group's metadata, no commit is refused, whatever the group's state.
    package func commit(
        _ positions: [Position], member: Int, generation: Int, isStatic: Bool = false, transaction: Int,
        hasMetadata: Bool = true
    ) -> CommitAnswer {
        let isNobodys = member < 0 && generation < 0 && !isStatic
        let isTaken = !hasMetadata || isNobodys || isOfEmptyGroup(generation)
        let answer = isTaken ? .accepted : check(member, generation)
        guard answer == .accepted else {
            timeline.note(800, .commitRefused, Int64(member), Int64(generation), Int64(transaction))
            return .refused(answer)
        }
        let (taken, refused) = split(positions.filter { !offsets.denied.contains($0.partition) })
        offsets.pending.append((transaction, taken))
        for position in taken {
            timeline.note(
                800, .transactionalCommit, Int64(position.partition.partition), position.offset, Int64(transaction))
        }
        return positions.count > taken.count + refused.count ? .denied : .accepted(refused: refused)
    }

    /// Such a commit seems to come from a client that manages its partitions itself.
    private func isOfEmptyGroup(_ generation: Int) -> Bool { generation < 0 && state == .empty }

    private func checkCommit(_ member: Int, _ generation: Int) -> MemberAnswer {
        if isOfEmptyGroup(generation) { return .accepted }
        let answer = check(member, generation)
        return answer == .accepted && state == .completing ? .rebalance : answer
    }

    private func split(_ positions: [Position]) -> (taken: [Position], refused: [TopicPartition]) {
        (
            positions.filter { $0.metadata.utf8.count <= Self.metadataLimit },
            positions.filter { $0.metadata.utf8.count > Self.metadataLimit }.map(\.partition)
        )
    }

    /// The transaction's outcome is decided; readers of offsets still wait for its marker.
    func decided(_ transaction: Int, commits: Bool) {
        guard commits else { return }
        for pending in offsets.pending where pending.transaction == transaction {
            cluster?.witness?.committed(pending.positions, transaction: transaction)
        }
    }

    func ended(_ transaction: Int, commits: Bool) {
        if commits {
            for pending in offsets.pending where pending.transaction == transaction { offsets.store(pending.positions) }
        }
        offsets.pending.removeAll { $0.transaction == transaction }
    }

    /// Nil while a transaction that would commit one of them is open.
    package func committed(_ partitions: [TopicPartition]) -> [Position]? {
        guard !partitions.contains(where: offsets.isPending) else { return nil }
        return partitions.map { partition in
            offsets.stored.first { $0.partition == partition } ?? Position(partition, offset: Position.none)
        }
    }

    /// Denies commits of the partition for this long.
    package func deny(_ partition: TopicPartition, for time: UInt64) {
        offsets.denied.insert(partition)
        timeline.after(time) { [weak self] in _ = self?.offsets.denied.remove(partition) }
    }

    /// The group begins with this committed offset in every partition.
    package func preset(_ offset: Int64) { offsets.store(partitions.map { Position($0, offset: offset) }) }

    package var hasCommittedAll: Bool {
        partitions.allSatisfy { partition in offsets.stored.contains { $0.partition == partition } }
    }

    /// The partitions with a committed offset above 0.
    package var begun: [TopicPartition] { offsets.stored.filter { $0.offset > 0 }.map(\.partition) }

    /// True if each partition has a committed offset that its log reaches.
    package func hasCommitted(withinLogsOf partitions: [TopicPartition]) -> Bool {
        partitions.allSatisfy { partition in
            guard let end = cluster?.log(partition)?.end else { return false }
            return offsets.stored.contains { $0.partition == partition && $0.offset <= end }
        }
    }

    func hasMember(_ id: Int?) -> Bool { members.contains { $0.id == id } }

    /// True if the group is stable and assigns the partition to this member.
    func isOwner(_ id: Int?, of partition: TopicPartition) -> Bool {
        state == .stable && members.contains { $0.id == id && $0.assignment.contains(partition) }
    }

    /// The partition's topic was deleted.
    package func forget(_ partition: TopicPartition) { offsets.stored.removeAll { $0.partition == partition } }

    // MARK: The assignment

    /// Cooperative and sticky: each member keeps what it has, up to its share. What goes to another member is held back
    /// until its owner has given it up, which the next round shows.
    func assign() {
        var owners = [Int](repeating: -1, count: partitions.count)
        var claims = [Int](repeating: -2, count: partitions.count)
        for (index, member) in members.enumerated() {
            for partition in member.owned {
                guard let slot = partitions.firstIndex(of: partition) else { continue }
                if member.ownedGeneration > claims[slot] {
                    (owners[slot], claims[slot]) = (index, member.ownedGeneration)
                } else if member.ownedGeneration == claims[slot] {
                    owners[slot] = -1
                }
            }
        }
        let share = partitions.count / members.count
        var extra = partitions.count % members.count
        var order = Array(members.indices)
        timeline.dice.shuffle(&order)
        var counts = [Int](repeating: 0, count: members.count)
        var assigned = [Int](repeating: -1, count: partitions.count)
        for index in order {
            for slot in owners.indices where owners[slot] == index {
                guard counts[index] < share || (counts[index] == share && extra > 0) else { break }
                if counts[index] == share { extra -= 1 }
                counts[index] += 1
                assigned[slot] = index
            }
        }
        for slot in owners.indices where owners[slot] < 0 {
            let next = order.first { counts[$0] < share } ?? order.first { counts[$0] == share && extra > 0 }
            guard let next else { break }
            if counts[next] == share { extra -= 1 }
            counts[next] += 1
            assigned[slot] = next
        }
        // As in librdkafka, the last member that claims a partition counts, even if the claim is stale.
        for slot in assigned.indices {
            guard let last = members.lastIndex(where: { $0.owned.contains(partitions[slot]) }) else { continue }
            if last != assigned[slot] { assigned[slot] = -1 }
        }
        for (index, member) in members.enumerated() {
            member.assignment = partitions.indices.filter { assigned[$0] == index }.map { partitions[$0] }
        }
    }
}
