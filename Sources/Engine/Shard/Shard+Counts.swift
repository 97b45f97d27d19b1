import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores

/// Counts: changed, settled, published to the changelog, stored. At least once, an event that counts is done when the
/// changelog has its count.
extension Shard where Ports: ~Copyable {
    /// How long changes wait to be published together.
    static var changesDelay: Duration { .milliseconds(20) }
    /// After this many, partitions are looked at for whether they are worth writing.
    private static var writeBehindAfter: Int { 100_000 }

    mutating func withChanges<Result>(of index: Int32, _ body: (inout ChangeQueue) -> Result) -> Result {
        let before = partitions[index].changes.unstored
        defer { changesUnstored += partitions[index].changes.unstored - before }
        return body(&partitions[index].changes)
    }

    /// How many changes of one partition may wait for an unavailable changelog before its intake pauses.
    var mostLateChanges: Int { max(100, (entries.capacity * 3 + 10_000) / max(1, partitions.count)) }

    /// How many changes wait for unavailable changelogs.
    var lateChanges: Int {
        var count = 0
        for index in partitions.indices where partitions[index].changes.isLate(now) {
            count += partitions[index].changes.unstored
        }
        return count
    }

    /// The state of the entry's account; nil if the disk cannot be read.
    mutating func countState(of entry: UInt32) -> CountState? {
        let (index, account) = (entries[entry].partition, entries[entry].account)
        return partitions[index].counts?.value.loadedState(of: account)
    }

    /// Applies the operation of the badge stage to the count of the entry's account. False if the disk cannot be read.
    mutating func count(_ entry: UInt32) -> Bool {
        guard let operation = entries[entry].operation else { return true }
        entries[entry].operation = nil
        guard let state = countState(of: entry) else { return false }
        let (index, account) = (entries[entry].partition, entries[entry].account)
        let counted = CountState(
            count: operation.applied(to: state.count), incarnation: partitions[index].incarnation,
            offset: entries[entry].offset)
        guard let earlier = partitions[index].counts?.value.change(account, to: counted, by: entry) else {
            return false
        }
        entries[entry].counted = counted
        entries[entry].hasChange = true
        guard earlier != 0 else { return true }
        entries[earlier].successor = entry
        entries[entry].hasPredecessor = true
        return true
    }

    /// The entry has ended: a changed count is final and goes to the changelog; without one the offset is done.
    mutating func settle(_ entry: UInt32) {
        let index = entries[entry].partition
        partitions[index].unfinished -= 1
        if entries[entry].hasChange {
            let account = entries[entry].account
            partitions[index].counts?.value.release(account, entry: entry)
            addChange(entry)
            // At least once, the offset is done when the count is stored.
            guard settings.isTransactional || PlantedFault.isPlanted(.changelogAfterOffsets) else { return }
        }
        done(entries[entry].offset, of: index)
    }

    /// Queues the entry's count for the changelog.
    private mutating func addChange(_ entry: UInt32) {
        let index = entries[entry].partition
        let (account, state, timestamp) = (entries[entry].account, entries[entry].counted, entries[entry].timestamp)
        partitions[index].changes.add(account, state, .event, timestamp: timestamp, now: now) { keys in
            entries.appendName(of: entry, to: &keys)
        }
        changesUnstored += 1
        changesDue = min(changesDue, now.advanced(nanoseconds: changesDelay))
    }

    /// Queues a change that belongs to no entry.
    mutating func add(
        _ index: Int32, _ state: CountState, _ origin: ChangeQueue.Origin, timestamp: Int64, key: [UInt8]
    ) {
        guard let secret = partitions[index].counts?.value.secret else { return }
        let account = key.withUnsafeBytes { secret.hash($0) }
        let now = now
        withChanges(of: index) { queue in
            queue.add(account, state, origin, timestamp: timestamp, now: now) {
                $0.append(contentsOf: key)
            }
        }
        changesDue = now
        isDirty = true
    }

    /// Drops the changes of events that were aborted.
    mutating func removeCounted(of index: Int32) {
        let now = now
        withChanges(of: index) { $0.removeCounted(now: now) }
    }

    /// Publishes changes while the producer accepts them; until the group has confirmed this member, only rewrites.
    mutating func publishChanges() {
        guard !isReplacingProducer, checkpoint.takesChanges else { return }
        changesDue = .never
        for index in partitions.indices {
            guard publishChanges(of: index) else {
                changesDue = min(changesDue, now + .milliseconds(5))
                continue
            }
            guard let due = partitions[index].changes.due, mayPublishChange(of: index) else { continue }
            changesDue = min(changesDue, due)
        }
    }

    private func mayPublishChange(of index: Int32) -> Bool {
        confirmation == nil || partitions[index].changes.isRewriteNext
    }

    /// False when the producer takes no more for now.
    private mutating func publishChanges(of index: Int32) -> Bool {
        while mayPublishChange(of: index), let next = partitions[index].changes.nextUnpublished(now) {
            let timestamp = partitions[index].changes.carriesEventTime ? next.change.timestamp : ports.wallClock
            let answer = publish(next.change, next.sequence, of: index, timestamp: timestamp)
            guard answer != .later else { return false }
            partitions[index].changes.published(at: timestamp)
            // The change is committed or aborted with the transaction.
            if settings.isTransactional, !partitions[index].isInTransaction {
                partitions[index].transactionStart = ports.wallClock
            }
            if case .refused(let reason) = answer {
                failChange(next.sequence, of: index, reason, isRefused: true)
            } else {
                hasUnsent = true
                changesUnanswered += 1
                partitions[index].changesUnanswered += 1
            }
        }
        return true
    }

    private mutating func publish(
        _ change: ChangeQueue.Change, _ sequence: UInt32, of index: Int32, timestamp: Int64
    ) -> PublishAnswer {
        let version = settings.formatVersion
        let tag = EntryTable.changeTag(sequence, index)
        let partition = partitions[index].id.partition
        return partitions.changes(of: index).pointee.withKey(of: change) { key in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ChangelogRecord.capacity) { memory in
                guard let start = memory.baseAddress else { return .later }
                let value = UnsafeRawBufferPointer(
                    start: start, count: ChangelogRecord.write(change.state, version, to: start))
                return ports.publishChange(
                    partition: partition, key: key, value: value, timestamp: timestamp, tag: tag)
            }
        }
    }

    mutating func handleChange(_ report: OutputReport<Ports.Output>, _ sequence: UInt32, of index: Int32) {
        // It comes after all, and is not awaited any more.
        guard changesUnanswered > 0 else { return }
        changesUnanswered -= 1
        guard index < partitions.count else { return }
        partitions[index].changesUnanswered -= 1
        // A change that was dropped in the meantime needs no handling.
        guard partitions[index].changes[sequence] != nil else { return }
        switch report.failure {
        case nil:
            let (isTransactional, now) = (settings.isTransactional, now)
            if partitions[index].changelog.answered(at: report.offset, isTransactional: isTransactional, now: now) {
                ports.tell(.changelogAnew(partition: partitions[index].id.partition))
            }
            let mayGoOn = withChanges(of: index) { $0.stored(sequence, at: report.offset, now: now) }
            if mayGoOn, let due = partitions[index].changes.due { changesDue = min(changesDue, due) }
            if !settings.isTransactional { takeStored(of: index) }
        case .refused(let reason): failChange(sequence, of: index, reason, isRefused: true)
        // For example, this principal may not write there: without a line in the log everything would stop silently.
        case .unavailable(let reason): failChange(sequence, of: index, reason, isRefused: false)
        case .purged: failChange(sequence, of: index, nil, isRefused: false)
        }
    }

    /// `reason`: why brokers have not stored it. `isRefused`: because of the record itself, such as its timestamp.
    private mutating func failChange(_ sequence: UInt32, of index: Int32, _ reason: String?, isRefused: Bool) {
        if let reason { ports.tell(.changelogRefused(reason: reason)) }
        checkpoint.failTransaction()
        if !isRefused, reason != nil { window.recordsTimedOut(retries.outstanding + changesUnstored) }
        let now = now
        withChanges(of: index) { $0.failed(sequence, isRefused: isRefused, now) }
        if let due = partitions[index].changes.due { changesDue = min(changesDue, due) }
    }

    /// Changes that the changelog has are to be written to the disk, and their events are done.
    mutating func takeStored(of index: Int32) {
        var last: (counted: CountState, timestamp: Int64)?
        while let change = partitions[index].changes.popStored() {
            partitions[index].counts?.value.stored(change.account, change.state)
            let number = partitions[index].id.partition
            partitions[index].changelog.stored(
                RecordPosition(partition: number, offset: change.storedAt, timestamp: change.recordTime))
            storedSinceWriting += 1
            switch change.origin {
            case .event:
                last = (change.state, change.timestamp)
                done(change.state.offset, of: index)
            case .mark: break
            case .rewrite:
                if partitions[index].changes.rewrites == 0 { partitions[index].changelog.completed() }
                if partitions[index].needsCommit { isDirty = true }
            }
        }
        if let last { writeLogMark(index, last.counted, timestamp: last.timestamp) }
        let delay = storedSinceWriting >= Self.writeBehindAfter ? 0 : writeBehindDelay
        writeBehindDue = min(writeBehindDue, now.advanced(nanoseconds: delay))
    }

    /// Nothing more is to be done for the event: its offset is done.
    mutating func done(_ offset: Int64, of index: Int32) {
        guard partitions[index].ledger.complete(offset) else { return }
        isDirty = true
        doneSinceMarks += 1
    }
}
