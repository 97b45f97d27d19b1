import Kafka
import Push
import Synchronization

/// What those who publish, and those who hear how that ended, share with the `Transactor`.
final class OutputTransactions: Sendable {
    let gate = Gate()
    let trial = Trial()
    /// What the `Transactor` is asked for.
    let requests = Mailbox<Transactor.Request>()
    private let publishedCount = Atomic<Int>(0)
    private let answeredCount = Atomic<Int>(0)
    private let failed = Atomic<Bool>(false)

    /// Where the last record of each partition of the changelog stands that the transaction has.
    private let changelogPlaces = Mutex<[Int32: Int64]>([:])

    /// Called within a door.
    func published() { publishedCount.wrappingAdd(1, ordering: .relaxed) }

    /// Reported on, and entered wherever that counts.
    func answered(_ count: Int) { answeredCount.wrappingAdd(count, ordering: .releasing) }

    /// The output was not stored, so that the whole transaction must come to nothing.
    func fail(_ returned: ReturnedRecord, _ tag: DeliveryTag, of origin: Position?, _ timestamp: Int64) {
        let error = returned.error
        // Also where it has gone: others of its batch must not be taken for the only one.
        if error.blamesRecord {
            trial.accuse(
                Trial.Accusation(
                    origin: origin, isLetter: tag.reason != nil, timestamp: timestamp, returned: returned))
        }
        // Purged by the abort itself.
        if error.isOurOwnDoing { return }
        failed.store(true, ordering: .relaxed)
        requests.post(.abort(error))
    }

    /// A record of the changelog was stored, or not.
    func answer(_ report: DeliveryReport, changelogPartition partition: Int32) {
        if let error = report.error {
            if error.isOurOwnDoing { return }
            failed.store(true, ordering: .relaxed)
            requests.post(.abort(error))
        } else if report.offset >= 0 {
            changelogPlaces.withLock { $0[partition] = max($0[partition] ?? 0, report.offset) }
        }
    }

    /// The changelog's records of a transaction are about to be published.
    func forgetPlaces() { changelogPlaces.withLock { $0.removeAll(keepingCapacity: true) } }

    var places: [Int32: Int64] { changelogPlaces.withLock { $0 } }

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
