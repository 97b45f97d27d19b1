internal import CPushmillRdKafka

/// What librdkafka says went wrong. `name` is librdkafka's own and stable: it goes to logs and dead letters.
public struct KafkaError: Error, Equatable, Sendable, CustomStringConvertible {
    public let code: Int32
    public let name: String
    public let message: String

    package init(_ message: String) {
        code = -1
        name = "_FAIL"
        self.message = message
    }

    public var description: String { "\(message) (\(name))" }
}

extension KafkaError {
    /// No answer came in time.
    package static var unanswered: KafkaError { KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT) }

    init(_ code: rd_kafka_resp_err_t, message: String? = nil) {
        self.code = code.rawValue
        name = String(cString: rd_kafka_err2name(code))
        self.message = message ?? String(cString: rd_kafka_err2str(code))
    }

    /// Takes over the error object and frees it.
    init(consuming error: OpaquePointer) {
        code = rd_kafka_error_code(error).rawValue
        name = String(cString: rd_kafka_error_name(error))
        message = String(cString: rd_kafka_error_string(error))
        rd_kafka_error_destroy(error)
    }

    /// nil for success.
    init?(ifAny code: rd_kafka_resp_err_t, message: String? = nil) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        self.init(code, message: message)
    }

    /// The error of a message that came in place of a record.
    init(of message: UnsafePointer<rd_kafka_message_t>) {
        self.init(message.pointee.err, message: rd_kafka_message_errstr(message).map { String(cString: $0) })
    }

    private func isAny(of codes: rd_kafka_resp_err_t...) -> Bool { codes.contains { $0.rawValue == code } }

    /// The group accepts no offsets from this member: another took over, or a rebalance is in progress.
    package var isRefusalOfMember: Bool { endsMembership || isAny(of: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS) }

    /// The group accepts nothing more from this member: its partitions are lost, or about to be.
    package var endsMembership: Bool {
        isAny(
            of: RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
            RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, RD_KAFKA_RESP_ERR__FATAL)
    }

    /// The coordinator accepted no part of a commit, and may accept the same one later.
    package var isWorthAnotherCommit: Bool {
        isTimeOut
            || isAny(
                of: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                RD_KAFKA_RESP_ERR__WAIT_COORD)
    }

    package var isUnknownTopic: Bool {
        isAny(of: RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    }

    /// Brokers reject the name or the password.
    package var isLogin: Bool {
        isAny(of: RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED)
    }

    package var isTLS: Bool { isAny(of: RD_KAFKA_RESP_ERR__SSL) }

    /// No connection to any broker can be made.
    var isOfAllBrokers: Bool { isAny(of: RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) }

    /// No answer has come, but one may still come.
    package var mayBeSlowness: Bool { isTimeOut && !isOfAllBrokers }

    /// Brokers know the client, but it is not authorized to do this.
    package var isForbidden: Bool {
        isAny(of: RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
    }

    /// The log does not hold the offset to be read, and no other was allowed in its place.
    package var isOffsetOutOfLog: Bool { isAny(of: RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) }

    /// The name of the error with which brokers refuse a record for its timestamp.
    package static let invalidTimestamp = KafkaError(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP).name

    /// The name of the error that brokers report for faults of their own.
    package static let unknown = KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN).name

    package var isTooLarge: Bool {
        isAny(of: RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
    }

    /// The brokers reject the record, or another of its batch. It was not lost on the way or purged, and it did not
    /// fail because of its producer or transaction.
    package var blamesRecord: Bool {
        !isTimeOut && !isOfTopic && !isForbidden && !isOfState
            && !isAny(
                of: RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__DESTROY,
                RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER,
                RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
                RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
                RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
                RD_KAFKA_RESP_ERR_PRODUCER_FENCED, RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR__BAD_MSG)
    }

    /// The topic accepts no records for the time being: it is unknown, without a leader, or not allowed.
    package var isOfTopic: Bool {
        isUnknownTopic
            || isAny(
                of: RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    }

    /// The producer or its transaction is in no state to take records.
    package var isOfState: Bool { isAny(of: RD_KAFKA_RESP_ERR__STATE, RD_KAFKA_RESP_ERR__FATAL) }

    /// Says nothing about the record itself: no broker, no answer in time.
    package var isTimeOut: Bool {
        isAny(
            of: RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
            RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION)
    }
}

/// Gives `call` a buffer for a reason; returns its answer and the reason.
func withReason<Answer>(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Answer) -> (answer: Answer, reason: String) {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
        buffer.initialize(repeating: 0)
        let answer = call(buffer.baseAddress, buffer.count)
        return (answer, buffer.baseAddress.map { String(cString: $0) } ?? "")
    }
}
