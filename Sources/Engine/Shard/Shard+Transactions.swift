import PushmillKafka
import PushmillStages
import PushmillStores

/// Transactions, and the producers that they belong to.
extension Shard where Ports: ~Copyable {
    /// Performs one step, and what follows from its outcome.
    mutating func step(_ step: TransactionStep) {
        let before = now
        let outcome = ports.transact(step)
        now = ports.now
        // If the next transaction is open by the end of this turn, the next turn sees no hold-up.
        if heldUpSince == nil { putOffDeadlines(heldUpSince: before) }
        switch (step, outcome) {
        case (.begin, .done): window.transactionBegan()
        case (.commit, .done):
            window.transactionCommitted(now: now)
            replacements.producerWorked()
            // Without offsets the group has not confirmed that this shard owns the partitions.
            let isMember = !marks.isEmpty
            acceptMarks { _ in true }
            marks.removeAll(keepingCapacity: true)
            for index in partitions.indices {
                partitions[index].counts?.value.commitChanges()
                takeStored(of: index)
                let stored = partitions[index].changelog.lastStored
                if isMember { partitions[index].changelog.know(stored) }
                partitions[index].transactionStart = nil
            }
            forgetCommittedRefusals()
        case (.initialize, .done): ports.tell(.transactionsTakenOver)
        case (.abort, .done):
            ports.tell(.transactionAborted(reason: abortReason ?? "not all of its outputs were stored"))
            abortReason = nil
        case (_, .abort(let error)), (_, .notAMember(let error)): abortReason = error.description
        case (_, .failed(let error)): ports.tell(.producerReplaced(reason: error.description))
        default: break
        }
        perform(checkpoint.stepped(step, outcome, now: now))
    }

    private mutating func forgetCommittedRefusals() {
        guard !poisonRecords.isEmpty || !suspects.isEmpty else { return }
        for index in partitions.indices where partitions[index].state != .gone {
            let (id, offset) = (partitions[index].id, partitions[index].committed.offset)
            forgetRefusals { $0.partition == id && $0.offset < offset }
        }
    }

    /// The transaction was aborted: every partition continues from its last commit.
    mutating func rewindAll() {
        for index in partitions.indices where partitions[index].isServed {
            dropEntries(of: index)
            partitions[index].counts?.value.rollBack()
            if !PlantedFault.isPlanted(.offsetOfAbortedTransactionKept) { partitions[index].rewind() }
            // A draining partition goes to its next owner as it was committed.
            if partitions[index].state == .draining { continue }
            partitions[index].state = .seeking(partitions[index].ledger.position, again: now)
        }
        for index in partitions.indices { removeCounted(of: index) }
        changesDue = now
        isDirty = changesUnstored > 0 || partitions.indices.contains { partitions[$0].needsCommit }
    }

    /// The entry is complete: its output is committed or aborted with the whole transaction.
    mutating func completeInTransaction(_ entry: UInt32) {
        let index = entries[entry].partition
        if !partitions[index].isInTransaction { partitions[index].transactionStart = time(of: entry) }
        guard count(entry) else { return failDisk(of: index) }
        complete(entry)
    }

    /// The output was not stored: its transaction must be aborted.
    mutating func failTransaction(
        _ entry: UInt32, _ failure: OutputReport<Ports.Output>.Failure, isPoison: Bool
    ) {
        switch failure {
        case .refused(let reason):
            let record = refusedRecord(entry)
            if isPoison {
                ports.tell(.outputRefused(record.position.partition, offset: record.position.offset, reason: reason))
                suspects.remove(record)
                let isLetter = entries[entry].destination == .deadLetters
                // The dead letter that only names the message was refused as well.
                if poisonRecords[record]?.isLetter == true { lettersPausedUntil = now + Self.letterPause }
                poisonRecords[record] = Poison(reason: reason, isLetter: isLetter)
            } else {
                suspects.insert(record)
            }
        case .unavailable(let reason):
            ports.tell(.outputsReturned(reason: reason))
            window.recordsTimedOut(retries.outstanding + 1 + changesUnstored)
            // The next transactions publish no dead letters for a while.
            if entries[entry].destination == .deadLetters { lettersPausedUntil = now + .seconds(5) }
        case .purged: break
        }
        checkpoint.failTransaction()
        entries[entry].state = .published
    }

    /// A producer that has failed for good is replaced once everything it published is answered.
    mutating func replaceProducerIfFailed() {
        if !isReplacingProducer, ports.hasProducerFailed {
            beginReplacement()
            ports.purge(all: false)
            ports.tell(.producerReplaced(reason: "the producer has failed"))
            perform(checkpoint.producerFailed(now: now))
        }
    }

    /// Called once a turn, with the number of reports that came. Reports come within the timeouts of records and of
    /// requests, or never: librdkafka 2.0.2 forgets what it is to send again to a partition that its topic has lost, for
    /// as long as a transaction has that partition (`rk_eos.txn_rktps`). No abort can end then: another producer must.
    mutating func awaitReports(after count: Int) {
        if PlantedFault.isPlanted(.reportsAwaitedForEver) { return }
        guard retries.outstanding + changesUnanswered > 0 else { return reportsDue = .never }
        if count > 0 || reportsDue == .never { reportsDue = now + settings.reportPatience }
        guard now >= reportsDue else { return }
        reportsDue = .never
        beginReplacement()
        ports.tell(.producerReplaced(reason: "it does not report all of its records"))
        perform(checkpoint.producerFailed(now: now))
        for entry in entries.indices where entries[entry].state != .free && entries[entry].isUnanswered {
            handle(OutputReport(tag: entries.tag(of: entry), failure: .purged))
        }
        // The changes themselves go when the producer is replaced, and no report of a former producer is taken.
        changesUnanswered = 0
        for index in partitions.indices { partitions[index].changesUnanswered = 0 }
    }

    mutating func beginReplacement() {
        guard !isReplacingProducer else { return }
        isReplacingProducer = true
        replacementDue = replacements.next(now)
    }

    /// Does nothing unless the producer has failed.
    mutating func replaceProducer() {
        guard isReplacingProducer, now >= nextReplacement else { return }
        guard retries.outstanding == 0, changesUnanswered == 0 else {
            // Requests in flight are answered within the brokers' timeout, or given up.
            ports.purge(all: settings.isTransactional)
            nextReplacement = now + .milliseconds(20)
            return
        }
        guard now >= replacementDue else { return }
        let works = ports.replaceProducer()
        checkpoint.replaced(works, now: now)
        guard works else {
            nextReplacement = now + .milliseconds(500)
            return
        }
        isReplacingProducer = false
        guard settings.isTransactional else { return }
        if partitions.indices.contains(where: { partitions[$0].isInTransaction }) {
            ports.tell(.transactionAborted(reason: "its producer has failed"))
        }
        restoreAll()
    }
}

/// When producers that have failed are replaced: the first at once, the next after a pause that grows while none works
/// for longer. A producer that is not allowed to publish must not keep brokers busy, nor two that take each other's
/// transactional ID.
struct Replacements {
    private static let pauses = (first: Duration.milliseconds(250), longest: Duration.seconds(10))

    private let isTransactional: Bool
    /// How many producers in a row are replaced at once. At least once each refused record fails a producer: only if
    /// many in a row have stored nothing, a record is not the cause. In a transaction it fails only that.
    private var quick: Int { isTransactional ? 1 : 20 }
    private var count = 0
    private var pause = Duration.zero
    /// When the current producer was due.
    private var begun = Instant.past
    private var hasWorked = true

    init(isTransactional: Bool) { self.isTransactional = isTransactional }

    /// The current producer has stored an output or, with transactions, has committed.
    mutating func producerWorked() { hasWorked = true }

    /// The time for the next producer.
    mutating func next(_ now: Instant) -> Instant {
        // Of two that take each other's ID, each works while the other pauses, and for a moment more.
        let isProven = hasWorked && (!isTransactional || now >= begun + pause * 4 + .seconds(2))
        if isProven { (count, pause) = (0, .zero) }
        if count >= quick { pause = min(max(pause * 2, Self.pauses.first), Self.pauses.longest) }
        (count, hasWorked, begun) = (count + 1, false, now + pause)
        return begun
    }
}
