import Kafka
import Push
import Synchronization

/// What those who publish, and those who hear how that ended, share with the `Transactor`.
final class OutputTransactions: Sendable {
    let gate = Gate()
    let trial = Trial()
    /// What the `Transactor` is asked for.
    let requests = Mailbox<Transactor.Request>()
    /// Makes the dead letters of records whose outputs are refused.
    let chain: Chain
    private let publishedCount = Atomic<Int>(0)
    private let answeredCount = Atomic<Int>(0)
    private let failed = Atomic<Bool>(false)

    init(chain: Chain) { self.chain = chain }

    /// Called within a door.
    func published() { publishedCount.wrappingAdd(1, ordering: .relaxed) }

    /// Reported on, and entered wherever that counts.
    func answered(_ count: Int) { answeredCount.wrappingAdd(count, ordering: .releasing) }

    /// The output was not stored, so that the whole transaction must come to nothing.
    func fail(
        _ report: DeliveryReport, _ tag: DeliveryTag, _ error: KafkaError, of origin: Position?, _ timestamp: Int64
    ) {
        if let origin, let returned = report.returned, error.blamesRecord {
            trial.accuse(
                Trial.Accusation(
                    origin: origin, isLetter: tag.reason != nil, error: error, timestamp: timestamp, returned: returned)
            )
        }
        // Purged by the abort itself.
        if error.isOurOwnDoing { return }
        failed.store(true, ordering: .relaxed)
        requests.post(.abort(error))
    }

    /// Not all that was published is stored. Certain when all is answered.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    func open() {
        failed.store(false, ordering: .relaxed)
        gate.open()
    }

    /// All so far: it grows while the gate is open.
    var total: Int { publishedCount.load(ordering: .relaxed) }

    /// Every report has come, and what followed from it has been done. While the gate is closed it stays so.
    var areAllAnswered: Bool { answeredCount.load(ordering: .acquiring) == total }
}
