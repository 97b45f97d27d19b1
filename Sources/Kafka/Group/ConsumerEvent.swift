internal import CPushmillRdKafka

/// What the group tells its member, and answers to what the member asked.
package enum ConsumerEvent: Sendable, Equatable {
    /// Must be answered with `acceptAssignment`. Comes with each rebalance, mostly without any partition.
    case assigned([TopicPartition])
    /// Must be finished and committed, then answered by `giveBack` of all of them.
    case revoked([TopicPartition])
    /// Like `revoked`, but other members may own them already: nothing of them may be committed.
    case lost([TopicPartition])
    /// Comes before the assignment or revocation that shows it. Another member may have owned this member's partitions
    /// in between.
    case memberIDChanged
    /// A negative offset: nothing was committed.
    case committed([Position])
    case commitEnded(number: UInt32, CommitAnswer)
    /// The log does not hold the offset to be read: the partition is not read until a seek.
    case outOfLog(TopicPartition)
    case range(TopicPartition, Range<Int64>)
    /// The timestamp of the log's record at exactly this offset; nil if the log holds none there.
    case record(Position, timestamp: Int64?)
    /// Only to be logged: no member owned these, so the group was made to rebalance.
    case unowned([TopicPartition])
    /// Only to be logged.
    case failed(KafkaError)
}

package enum CommitAnswer: Sendable, Equatable {
    case accepted
    /// The refused partitions are not committed, the others are.
    case partly(refused: [TopicPartition])
    /// None of them is known to be committed: librdkafka reports one partition's error for all of them.
    case denied(KafkaError)
    /// A rebalance is in progress, or no answer came: worth a retry.
    case retry(KafkaError)
    /// The group no longer knows this member or its generation: a retry can never succeed.
    case refused(KafkaError)

    init(_ results: [PartitionResult], _ failure: KafkaError?) {
        let errors = results.compactMap(\.error) + (failure.map { [$0] } ?? [])
        if let error = errors.first(where: \.endsMembership) {
            self = .refused(error)
        } else if let error = errors.first(where: \.isWorthAnotherCommit) {
            self = .retry(error)
        } else if let failure, results.allSatisfy({ $0.error == nil }) {
            self = .retry(failure)
        } else {
            let refused = results.filter { $0.error != nil }.map(\.position.partition)
            if let error = errors.first, refused.count == results.count {
                self = .denied(error)
            } else {
                self = refused.isEmpty ? .accepted : .partly(refused: refused)
            }
        }
    }
}

/// Where callbacks put what arrives during a poll of the consumer queue. Only for the thread that polls.
final class GroupInbox {
    var events: [ConsumerEvent] = []
    /// What the group has assigned to this member, without what it has revoked.
    var owned: Set<TopicPartition> = []
    /// The partitions of an unanswered revocation that are not given back yet.
    var revoked: Set<TopicPartition>?
    var isRevocationLost = false
    /// The member is leaving, and no later call would answer a revocation: the callback answers it at once.
    var isLeaving = false
    /// The member's ID at the last rebalance; nil after a loss.
    var name: String?
    /// The group has told this member its partitions at least once.
    var wasTold = false
    /// The last assignment only completes a revocation: librdkafka rejoins as soon as it is accepted.
    var rejoins = false
    /// An assignment is not answered yet, or was not before the client failed.
    var isAssigning = false
    /// Commits to be made at `heldUntil`, in nanoseconds of the monotonic clock.
    var heldCommits: [(positions: [Position], number: UInt32)] = []
    var heldUntil: UInt64 = 0

    /// The member joins or was told a rebalance: in between, another member may have owned their partitions.
    func dropHeldCommits() {
        for (_, number) in exchange(&heldCommits, with: []) {
            events.append(.commitEnded(number: number, .retry(.unanswered)))
        }
    }
}

/// Called by librdkafka during a poll of the consumer queue. It need not answer there: librdkafka waits for the
/// (un)assign call for any time while the consumer is polled.
func onGroupRebalance(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let partitions, let sinks = ClientSinks.from(opaque) else { return }
    sinks.group.wasTold = true
    sinks.group.dropHeldCommits()
    guard !sinks.group.isLeaving else {
        // While the consumer is closing, this releases all partitions (`rd_kafka_cgrp_handle_assign_op`).
        rd_kafka_assign(client, nil)
        return
    }
    let named = PartitionResult.all(in: partitions).map(\.position.partition)
    let isLost = rd_kafka_assignment_lost(client) != 0
    noteName(of: client, isLost, sinks.group)
    let hasJoined = sinks.joins.end()
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        sinks.group.owned.formUnion(named)
        sinks.group.rejoins = !hasJoined
        sinks.group.isAssigning = true
        sinks.group.events.append(.assigned(named))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        sinks.group.owned.subtract(named)
        sinks.group.revoked = Set(named)
        sinks.group.isRevocationLost = isLost
        sinks.group.events.append(isLost ? .lost(named) : .revoked(named))
    default: sinks.group.events.append(.failed(KafkaError(code)))
    }
}

/// A static member that was removed rejoins under another ID, and librdkafka reports no loss; a dynamic member learns
/// of the loss when it is told to join again (`rd_kafka_cgrp_handle_JoinGroup`).
private func noteName(of client: OpaquePointer, _ isLost: Bool, _ group: GroupInbox) {
    guard !isLost else { return group.name = nil }
    guard let name = nameOfMember(client), !name.isEmpty else { return }
    if let before = group.name, before != name { group.events.append(.memberIDChanged) }
    group.name = name
}

/// The client's member ID at this moment.
func nameOfMember(_ client: OpaquePointer) -> String? {
    guard let text = rd_kafka_memberid(client) else { return nil }
    defer { rd_kafka_mem_free(client, text) }
    return String(cString: text)
}

/// Called by librdkafka during a poll of the consumer queue, to which `GroupConsumer.commit` directs the answers. The
/// opaque pointer is the commit's number.
func onGroupCommit(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    offsets: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let sinks = ClientSinks.from(rd_kafka_opaque(client)) else { return }
    let number = UInt32(truncatingIfNeeded: UInt(bitPattern: opaque))
    let results = offsets.map { PartitionResult.all(in: $0) } ?? []
    sinks.group.events.append(.commitEnded(number: number, CommitAnswer(results, KafkaError(ifAny: code))))
}
