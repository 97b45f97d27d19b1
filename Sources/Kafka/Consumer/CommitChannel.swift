internal import CPushmillRdKafka

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
