internal import CPushmillRdKafka

/// What comes of the group, and of what it was asked.
package enum ConsumerEvent: Sendable, Equatable {
    /// To be answered by `acceptAssignment`. Comes with each rebalance, mostly for no partition at all.
    case assigned([TopicPartition])
    /// To be finished and committed, then answered by `giveBack` of all of them.
    case revoked([TopicPartition])
    /// As `revoked`; others may own them already: nothing of them may be committed.
    case lost([TopicPartition])
    /// Before the assignment or the revocation that shows it: the group has this member by another name now. What is its
    /// own may have been another's in between.
    case renamed
    /// A negative offset: nothing is committed.
    case committed([Position])
    case commitEnded(number: UInt32, CommitAnswer)
    /// The log does not hold the offset that was to be read: nothing is read of it before a seek.
    case outOfLog(TopicPartition)
    case range(TopicPartition, Range<Int64>)
    /// For the log: the group had forgotten these, and was asked to share out its partitions anew.
    case unowned([TopicPartition])
    /// For the log.
    case failed(KafkaError)
}

package enum CommitAnswer: Sendable, Equatable {
    case accepted
    /// These are not committed, the others are.
    case partly(refused: [TopicPartition])
    /// Of none of them it is known that it is: librdkafka tells of all what it was told of one.
    case denied(KafkaError)
    /// A rebalance is under way, or no answer came: worth another attempt.
    case retry(KafkaError)
    /// Another member, or another generation of the group: never.
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

/// Where callbacks leave what comes within a poll of the consumer queue. For the thread that polls.
final class GroupInbox {
    var events: [ConsumerEvent] = []
    /// The partitions of a revocation that was not answered yet.
    var revoked: Set<TopicPartition>?
    var isRevocationLost = false
    /// While the group is being left no one answers later: what is revoked then is let go at once.
    var isLeaving = false
    /// By which the group had this member when it told what is its own.
    var name: String?
    /// The group has told this member what is its own, at least once.
    var wasTold = false
    /// What was assigned last is the rest of a revocation: librdkafka joins anew as soon as that is accepted.
    var rejoins = false
    /// An assignment was not answered before the client failed, or not yet.
    var isAssigning = false
}

/// Called by librdkafka within a poll of the consumer queue. It need not answer there: librdkafka waits for the
/// (un)assign call, however late, while the consumer is polled.
func onGroupRebalance(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let partitions, let sinks = ClientSinks.from(opaque) else { return }
    sinks.group.wasTold = true
    guard !sinks.group.isLeaving else {
        // While the consumer terminates this lets go of everything (`rd_kafka_cgrp_handle_assign_op`).
        rd_kafka_assign(client, nil)
        return
    }
    let named = PartitionResult.all(in: partitions).map(\.position.partition)
    let isLost = rd_kafka_assignment_lost(client) != 0
    noteName(of: client, isLost, sinks.group)
    let hasJoined = sinks.joins.end()
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        sinks.group.rejoins = !hasJoined
        sinks.group.isAssigning = true
        sinks.group.events.append(.assigned(named))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        sinks.group.revoked = Set(named)
        sinks.group.isRevocationLost = isLost
        sinks.group.events.append(isLost ? .lost(named) : .revoked(named))
    default: sinks.group.events.append(.failed(KafkaError(code)))
    }
}

/// A static member that has lost its place comes back under another name, and librdkafka tells of no loss: a member that is
/// not static learns of it when it is asked to come again (`rd_kafka_cgrp_handle_JoinGroup`).
private func noteName(of client: OpaquePointer, _ isLost: Bool, _ group: GroupInbox) {
    guard !isLost else { return group.name = nil }
    guard let name = nameOfMember(client), !name.isEmpty else { return }
    if let before = group.name, before != name { group.events.append(.renamed) }
    group.name = name
}

/// As the client has it at this moment.
func nameOfMember(_ client: OpaquePointer) -> String? {
    guard let text = rd_kafka_memberid(client) else { return nil }
    defer { rd_kafka_mem_free(client, text) }
    return String(cString: text)
}

/// Called by librdkafka within a poll of the consumer queue, where `GroupConsumer.commit` has answers sent. What was
/// given as opaque is the commit's number.
func onGroupCommit(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    offsets: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let sinks = ClientSinks.from(rd_kafka_opaque(client)) else { return }
    let number = UInt32(truncatingIfNeeded: UInt(bitPattern: opaque))
    let results = offsets.map { PartitionResult.all(in: $0) } ?? []
    sinks.group.events.append(.commitEnded(number: number, CommitAnswer(results, KafkaError(ifAny: code))))
}
