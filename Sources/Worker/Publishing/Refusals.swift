import Kafka
import Push
import Telemetry

/// The thread that sees to outputs which were not stored. One refused for its size is first sent once more alone, since
/// a whole batch is refused for one record; one refused for good becomes a dead letter; any other is sent again.
final class Refusals: Sendable {
    private enum Message: Sendable {
        case refused(Refusal)
        case stop
    }

    private let mailbox = Mailbox<Message>()
    private let sending: Resending
    private let log: Log

    init(sending: Resending, log: Log) {
        self.sending = sending
        self.log = log
    }

    /// Called on the acknowledger's thread.
    func take(_ report: DeliveryReport, _ tag: DeliveryTag, _ error: KafkaError) {
        guard let returned = report.returned, !error.isOurOwnDoing else { return }
        let refusal = Refusal(tag: tag, error: error, timestamp: report.timestamp, returned: returned)
        mailbox.post(.refused(refusal))
    }

    func stop() { mailbox.post(.stop) }

    /// The thread's life: ends with `stop`.
    func serve() {
        var batch: [Message] = []
        while true {
            mailbox.take(into: &batch, until: .never)
            for message in batch {
                switch message {
                case .refused(let refusal): answer(refusal)
                case .stop: return
                }
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    private func answer(_ refusal: Refusal) {
        if refusal.error.isTimeOut {
            log.warning("an output was not stored in time, sending it again", [.error(refusal.error)])
            sending.again(refusal)
        } else if refusal.error.isTooLarge, let error = sending.alone(refusal) {
            sending.deadLetter(refusal, error)
        } else if !refusal.error.isTooLarge {
            sending.deadLetter(refusal, refusal.error)
        }
    }
}

/// An output that was not stored.
struct Refusal: Sendable {
    let tag: DeliveryTag
    let error: KafkaError
    let timestamp: Int64
    let returned: ReturnedRecord
}
