internal import CPushmillRdKafka
internal import Synchronization

/// Commits explicit lists with their metadata and waits for the answer no longer than it is told. For one thread.
public final class CommitChannel {
    private let client: Client
    private let queue: OpaquePointer
    private let answers = Answers()
    private var next: UInt = 0

    init(_ client: Client) throws(KafkaError) {
        guard let queue = rd_kafka_queue_new(client.handle) else { throw KafkaError("no queue for commits") }
        self.client = client
        self.queue = queue
    }

    deinit {
        // An answer that is still under way writes to `answers`: with its queue gone librdkafka drops it.
        rd_kafka_queue_destroy(queue)
    }

    /// nil when no answer came in time: the commit may still happen.
    public func commit(_ positions: [Position], milliseconds: Int32) -> [PartitionResult]? {
        next &+= 1
        answers.awaited = next
        answers.results = nil
        let list = PartitionList(positions)
        let ticket = Ticket(answers, next)
        let opaque = Unmanaged.passRetained(ticket).toOpaque()
        let code = rd_kafka_commit_queue(client.handle, list.pointer, queue, onCommit, opaque)
        if let error = KafkaError(ifAny: code) {
            Unmanaged<Ticket>.fromOpaque(opaque).release()
            return positions.map { PartitionResult(position: $0, error: error) }
        }
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(Int(milliseconds))
        while answers.results == nil {
            let left = clock.now.duration(to: deadline)
            guard left > .zero else { return nil }
            let (seconds, fraction) = left.components
            rd_kafka_queue_poll_callback(queue, Int32(clamping: seconds * 1000 + fraction / 1_000_000_000_000_000 + 1))
        }
        return answers.results
    }
}

private final class Answers {
    var awaited: UInt = 0
    var results: [PartitionResult]?
}

private final class Ticket {
    let answers: Answers
    let number: UInt

    init(_ answers: Answers, _ number: UInt) {
        self.answers = answers
        self.number = number
    }
}

/// Called within the poll of the commit's own queue; an answer that comes too late is dropped.
private func onCommit(
    client: OpaquePointer?, code: rd_kafka_resp_err_t,
    offsets: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let opaque else { return }
    let ticket = Unmanaged<Ticket>.fromOpaque(opaque).takeRetainedValue()
    guard ticket.answers.awaited == ticket.number else { return }
    let failure = KafkaError(ifAny: code)
    ticket.answers.results = (offsets.map { PartitionResult.all(in: $0) } ?? []).map {
        PartitionResult(position: $0.position, error: $0.error ?? failure)
    }
}

/// Whether the group is being joined anew, which librdkafka tells in no other way than by its requests: not when a
/// member of a cooperative group learns of a rebalance, but only when that is over.
final class JoinWatch: Sendable {
    private let isAwaited = Atomic<Bool>(false)
    private let hasAsked = Atomic<Bool>(false)

    /// The client has asked to become a member, at least once.
    var hasBegun: Bool { hasAsked.load(ordering: .acquiring) }

    var isJoining: Bool { isAwaited.load(ordering: .acquiring) }

    fileprivate func note(_ key: Int16, isAwaited: Bool) {
        guard key == Self.joinGroup || key == Self.syncGroup else { return }
        if isAwaited { hasAsked.store(true, ordering: .releasing) }
        self.isAwaited.store(isAwaited, ordering: .releasing)
    }

    private static let joinGroup: Int16 = 11
    private static let syncGroup: Int16 = 14

    /// The watch must live as long as the client that is made with this configuration.
    func watch(_ configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "join", onNew, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate static func from(_ opaque: UnsafeMutableRawPointer?) -> JoinWatch? {
        opaque.map { Unmanaged<JoinWatch>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Called by librdkafka while it makes the client.
private func onNew(
    client: OpaquePointer?, configuration: OpaquePointer?, opaque: UnsafeMutableRawPointer?,
    reason: UnsafeMutablePointer<CChar>?, size: Int
) -> rd_kafka_resp_err_t {
    let code = rd_kafka_interceptor_add_on_request_sent(client, "join", onRequest, opaque)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return code }
    return rd_kafka_interceptor_add_on_response_received(client, "join", onResponse, opaque)
}

/// Called by librdkafka on a broker's thread, for every request; must not call back into it.
private func onRequest(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    JoinWatch.from(opaque)?.note(key, isAwaited: true)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

/// Called by librdkafka on any of its threads just before it looks at a response, or at what came instead of one.
private func onResponse(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, time: Int64, error: rd_kafka_resp_err_t, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    JoinWatch.from(opaque)?.note(key, isAwaited: false)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
