import Kafka
import Push
import Telemetry

/// The thread that sees to outputs which were not stored. One refused for its size is first sent once more alone, since
/// a whole batch is refused for one record; one refused for good becomes a dead letter; any other is sent again, as soon
/// as its topic is to be had.
final class Refusals: Sendable {
    private enum Message: Sendable {
        case refused(Refusal)
        case stop
    }

    /// How long clients that were made for refusals are kept for more.
    private static let memory = Duration.seconds(30)

    private let mailbox = Mailbox<Message>()
    private let makeSending: @Sendable () -> Resending
    private let outputs: Outputs
    private let log: Log

    init(outputs: Outputs, log: Log, sending: @escaping @Sendable () -> Resending) {
        self.outputs = outputs
        self.log = log
        makeSending = sending
    }

    /// Called on the acknowledger's thread.
    func take(_ returned: ReturnedRecord, _ tag: DeliveryTag, timestamp: Int64) {
        guard !returned.error.isOurOwnDoing else { return }
        let refusal = Refusal(tag: tag, timestamp: timestamp, returned: returned)
        if refusal.holdsOthers { outputs.returned() }
        mailbox.post(.refused(refusal))
    }

    func stop() { mailbox.post(.stop) }

    /// The thread's life: ends with `stop`.
    func serve() {
        var sending = makeSending()
        var batch: [Message] = []
        var rest = Instant.never
        while true {
            mailbox.take(into: &batch, until: rest)
            let isIdle = batch.isEmpty && !sending.isWaiting
            if isIdle { sending.rest() }
            for message in batch {
                switch message {
                case .refused(let refusal): answer(refusal, by: &sending)
                case .stop: return
                }
            }
            batch.removeAll(keepingCapacity: true)
            sending.tryAgain()
            let now = TimeSource.system.now
            rest = sending.isWaiting ? now + Publisher.heldPatience : isIdle ? .never : now + Self.memory
        }
    }

    private func answer(_ refusal: Refusal, by sending: inout Resending) {
        if refusal.holdsOthers { sending.holdOthers() }
        if refusal.isReturn {
            log.warning("an output was not stored, sending it again", [.error(refusal.error)])
            sending.again(refusal)
        } else if refusal.error.isTooLarge {
            log.warning(
                "an output was refused for its size, perhaps for another's: sending it alone", [.error(refusal.error)])
            guard let error = sending.alone(refusal) else { return }
            if error.blamesRecord { sending.deadLetter(refusal, error) } else { sending.again(refusal) }
        } else {
            sending.deadLetter(refusal, refusal.error)
        }
    }
}

/// An output that was not stored.
struct Refusal: Sendable {
    let tag: DeliveryTag
    let timestamp: Int64
    let returned: ReturnedRecord

    var error: KafkaError { returned.error }
    /// It is sent again as it is, in its place.
    var isReturn: Bool { !error.blamesRecord }
    /// Or, where a whole batch was refused for one, perhaps.
    var holdsOthers: Bool { isReturn || error.isTooLarge }
}
