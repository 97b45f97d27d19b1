internal import CPushmillRdKafka

/// What the group wants of this member. The consumer goes on only when it has been answered: `assign` by
/// `Consumer.assign`, `revoke` and `lose` by `Consumer.unassign`.
public enum RebalanceEvent: Sendable {
    case assign([TopicPartition])
    case revoke([TopicPartition])
    /// Others may own them already: nothing of them may be committed.
    case lose([TopicPartition])
    case failed(KafkaError)
}

/// Rebalances as the callback leaves them during a poll.
final class RebalanceInbox {
    var events: [RebalanceEvent] = []
    /// While the group is being left no one answers later: what is revoked then is let go at once.
    var isLeaving = false
    /// The group has told this member what is its own, at least once.
    var wasTold = false
}

/// Called by librdkafka within a poll of the consumer queue. It need not answer there: librdkafka waits for the
/// (un)assign call, however late, while the consumer is polled.
func onRebalance(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let client, let partitions, let sinks = ClientSinks.from(opaque) else { return }
    sinks.rebalances.wasTold = true
    let named = PartitionResult.all(in: partitions).map(\.position.partition)
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS where !sinks.rebalances.isLeaving:
        sinks.rebalances.events.append(.assign(named))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS where !sinks.rebalances.isLeaving:
        let isLost = rd_kafka_assignment_lost(client) != 0
        sinks.rebalances.events.append(isLost ? .lose(named) : .revoke(named))
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        rd_kafka_assign(client, nil)
    default:
        sinks.rebalances.events.append(.failed(KafkaError(code)))
        rd_kafka_assign(client, nil)
    }
}
