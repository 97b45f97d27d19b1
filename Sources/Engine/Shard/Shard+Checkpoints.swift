import PushmillKafka
import PushmillStages
import PushmillStores

/// Checkpoints: what the machine asks for.
extension Shard where Ports: ~Copyable {
    /// The longest that what is stored waits for the disk: the more it is at once, the fewer pages a row costs.
    static var writeBehindInterval: Duration { .seconds(10) }
    /// Of so much the changelog is read again in a third of a second by who comes after a kill.
    private static var writeBehindAfter: Int { 100_000 }
    /// Rows that are written between two batches of messages, which wait as long: a millisecond, or a partition's.
    private static var writeBehindRows: Int { 256 }
    private static var checkpointAfter: Int { 1000 }
    private static var recommitDelay: Duration { .seconds(5) }

    mutating func advanceCheckpoint() {
        publishChanges()
        // With much to do the next one does not wait for its time: a kill repeats what is done since the last.
        if !settings.isTransactional, doneSinceCut >= Self.checkpointAfter { _ = checkpoint.want() }
        // Each action leads to the next state; a few at most follow one another without waiting.
        for _ in 0..<8 {
            let action = checkpoint.advance(now: now, isDirty: isDirty, unanswered: retries.outstanding)
            guard action != .none else { break }
            perform(action)
        }
        writeBehindIfDue()
        if now >= nextRecommit {
            nextRecommit = .never
            recommit()
        }
    }

    /// Everything is committed once more.
    mutating func recommit() {
        for index in partitions.indices where partitions[index].isServed { partitions[index].mustCommit = true }
        isDirty = true
    }

    mutating func perform(_ action: Checkpoint.Action) {
        switch action {
        case .none: break
        case .cut: makeCut()
        case .commit: commit()
        case .putBack: putBack()
        case .setAside: setAsideUnanswered()
        case .giveUpCommit:
            storeChanges { _ in false }
            cut.marks.removeAll(keepingCapacity: true)
            isDirty = true
            // The commit that was given up may still reach the group after a later one and undo it: all is committed again.
            nextRecommit = now + Self.recommitDelay
        case .initialize: step(.initialize)
        case .begin: step(.begin)
        case .flush: ports.flush()
        case .addOffsets: step(.addOffsets(cut.marks.map(\.position)))
        case .endTransaction: step(.commit)
        case .abort: step(.abort)
        case .rewind: rewindAll()
        case .replaceProducer:
            if !isReplacingProducer {
                isReplacingProducer = true
                nextReplacement = now
            }
            replaceProducer()
        }
    }

    private mutating func makeCut() {
        cut.marks.removeAll(keepingCapacity: true)
        cut.changes.removeAll()
        cut.published = 0
        cut.ends.removeAll(keepingCapacity: true)
        cut.hasEventTime = isClockRefused
        isDirty = false
        doneSinceCut = 0
        for index in partitions.indices where partitions[index].needsCommit {
            // Its changelog is away: it waits, and nobody waits for it.
            guard partitions[index].changesUnanswered == 0 else {
                isDirty = true
                continue
            }
            let snapshot = partitions[index].ledger.snapshot(
                limit: settings.metadataLimit, version: settings.formatVersion)
            if snapshot.leftOut > 0 {
                ports.tell(.metadataCut(partitions[index].place, leftOut: snapshot.leftOut))
            }
            cut.marks.append(
                Cut.Mark(
                    partition: index, epoch: partitions[index].epoch, place: partitions[index].place,
                    snapshot: snapshot))
        }
        let away = partitionsUnanswered
        if away.isEmpty { swap(&cut.changes, &changes) } else { cut.changes = changes.take { !away.contains($0) } }
        publishChanges()
    }

    /// The cut's changes go to the changelog, as far as the producer takes them.
    private mutating func publishChanges() {
        guard checkpoint.state == .storing, mayPublish else { return }
        while cut.published < cut.changes.count {
            let change = cut.changes.list[cut.published]
            let step = publish(change)
            guard step != .later else { return }
            cut.published += 1
            checkpoint.publishedChange()
            if case .refused(let reason) = step {
                refuseChange(reason, of: checkpoint.number)
            } else {
                changesUnanswered += 1
                partitions[change.partition].changesUnanswered += 1
            }
        }
        checkpoint.publishedAllChanges()
        if settings.isTransactional { ports.flush() }
    }

    private mutating func publish(_ change: CountChanges.Change) -> PublishStep {
        ChangelogRecord.encode(change.state, version: settings.formatVersion, into: &restore.value)
        let place = partitions[change.partition].place
        let tag = EntryTable.changeTag(
            checkpoint.number, change.partition, epoch: partitions[change.partition].assignment)
        let timestamp = cut.hasEventTime ? change.timestamp : ports.wallClock
        return cut.changes.withKey(of: change) { key in
            restore.value.withUnsafeBytes { value in
                ports.publishChange(
                    partition: place.partition, key: key, value: value, timestamp: timestamp, tag: tag)
            }
        }
    }

    mutating func handleChange(
        _ report: OutputReport<Ports.Output>, of number: UInt32, _ index: Int32, assignment: UInt32
    ) {
        changesUnanswered -= 1
        let isCurrent = index < partitions.count && partitions[index].assignment & 0x7FFF == assignment
        if isCurrent { partitions[index].changesUnanswered -= 1 }
        switch report.failure {
        case nil:
            checkpoint.answeredChange(of: number, failed: false)
            guard isCurrent, report.offset > cut.ends[index]?.offset ?? -1, checkpoint.number == number else { return }
            let place = partitions[index].place
            cut.ends[index] = RecordPosition(partition: place.partition, offset: report.offset)
        case .refused(let reason): refuseChange(reason, of: number)
        case .unavailable, .purged:
            checkpoint.answeredChange(of: number, failed: true)
        }
    }

    /// Perhaps for its time: the next ones carry their events' instead, or this machine's again.
    private mutating func refuseChange(_ reason: String, of number: UInt32) {
        ports.tell(.changelogRefused(reason: reason))
        isClockRefused = !cut.hasEventTime && !PlantedFault.isPlanted(.clockAheadAbortsForEver)
        checkpoint.answeredChange(of: number, failed: true)
    }

    /// Those of which the changelog has not answered.
    private var partitionsUnanswered: Set<Int32> {
        Set(partitions.indices.filter { partitions[$0].changesUnanswered > 0 })
    }

    /// The changelog of some partitions does not answer: the others go on without them.
    private mutating func setAsideUnanswered() {
        let away = partitionsUnanswered
        cut.marks.removeAll { away.contains($0.partition) }
        for index in away { cut.ends[index] = nil }
        let kept = cut.changes.take { !away.contains($0) }
        changes.putBack(cut.changes)
        cut.changes = kept
        cut.published = kept.count
        isDirty = true
    }

    /// What the cut had belongs to the next one. Partitions that have gone, or gone back, have taken theirs with them.
    private mutating func putBack() {
        if !cut.changes.isEmpty { changes.putBack(cut.changes) }
        cut.changes.removeAll()
        cut.marks.removeAll(keepingCapacity: true)
        isDirty = true
        // Its commit may have been asked for already.
        if !settings.isTransactional { nextRecommit = now + Self.recommitDelay }
    }

    private mutating func commit() {
        guard !cut.marks.isEmpty else { return ended(.accepted) }
        guard !ports.isJoining else { return ended(.retry) }
        ports.commit(cut.marks.map(\.position), number: checkpoint.number)
    }

    mutating func handleCommit(_ number: UInt32, _ outcome: CommitOutcome) {
        if number == confirmation { return confirmed(outcome) }
        guard number == checkpoint.number else { return }
        ended(outcome)
    }

    private mutating func confirmed(_ outcome: CommitOutcome) {
        guard outcome == .accepted else { return }
        confirmation = nil
        // A commit that was under way before may be undone by the one that asked.
        recommit()
        ports.tell(.confirmed)
    }

    private mutating func ended(_ outcome: CommitOutcome) {
        guard checkpoint.committed(checkpoint.number, outcome, now: now) else { return }
        switch outcome {
        case .accepted:
            storeChanges { _ in true }
            accept { _ in true }
        case .partly(let refused):
            storeChanges { !refused.contains($0) }
            accept { !refused.contains($0) }
            isDirty = true
            ports.tell(.commitFailed(reason: "some partitions were refused"))
        case .retry:
            storeChanges { _ in false }
            isDirty = true
            nextRecommit = now + Self.recommitDelay
        case .refused:
            storeChanges { _ in false }
            isDirty = true
            ports.tell(.commitFailed(reason: "the group does not take offsets of this member"))
            // It may have given this member's partitions to others, and will say so.
            confirm(from: now + .milliseconds(200))
        }
        cut.marks.removeAll(keepingCapacity: true)
    }

    mutating func accept(where isAccepted: (TopicPartition) -> Bool) {
        for mark in cut.marks where partitions[mark.partition].epoch == mark.epoch && isAccepted(mark.place) {
            partitions[mark.partition].ledger.committed(mark.snapshot)
            partitions[mark.partition].committed = mark.snapshot
            partitions[mark.partition].mustCommit = false
        }
    }

    /// The changelog has the cut's changes. Where it stands is noted for partitions that were this shard's all the time, as
    /// the group has said by taking its offsets: what others have written meanwhile this shard has not read.
    mutating func storeChanges(whereOwned isOwned: (TopicPartition) -> Bool) {
        for index in cut.changes.list.indices {
            if index + Self.lookAhead < cut.changes.count {
                let next = cut.changes.list[index + Self.lookAhead]
                partitions[next.partition].counts?.prefetch(next.account)
            }
            let change = cut.changes.list[index]
            partitions[change.partition].counts?.stored(change.account, change.state)
        }
        for (index, end) in cut.ends
        where isOwned(partitions[index].place) && end.offset > partitions[index].changelogEnd?.offset ?? -1 {
            partitions[index].changelogEnd = end
        }
        cut.ends.removeAll(keepingCapacity: true)
        if !cut.changes.isEmpty, nextWriting == .never { nextWriting = now + Self.writeBehindInterval }
        storedSinceWriting += cut.changes.count
        if storedSinceWriting >= Self.writeBehindAfter { nextWriting = min(nextWriting, now) }
        cut.changes.removeAll()
    }

    /// It is not known what was committed: the group is asked again, and counts are restored.
    mutating func restoreAll() {
        for index in partitions.indices where partitions[index].isServed { restoreAgain(index) }
        changes.removeCounted()
        isDirty = !changes.isEmpty
    }

    mutating func restoreAgain(_ index: Int32, after delay: Duration = .zero) {
        if partitions[index].isInTransaction { checkpoint.failTransaction() }
        restore.remove(index)
        partitions[index].isRestored = false
        partitions[index].changelogEnd = nil
        dropEntries(of: index)
        changes.remove(partition: index)
        cut.remove(partition: index)
        partitions[index].counts = nil
        partitions[index].rewind()
        guard partitions[index].state != .draining else { return }
        partitions[index].state = .asking(again: now + delay)
    }

    mutating func failDisk(of index: Int32) {
        ports.tell(.diskFailed(partitions[index].place))
        // What cannot be read is begun anew.
        _ = partitions[index].counts?.restart()
        restoreAgain(index, after: .seconds(1))
    }

    private mutating func writeBehindIfDue() {
        guard now >= nextWriting else { return }
        var written = 0
        while written < Self.writeBehindRows, nextWritten < partitions.count {
            let index = Int32(nextWritten)
            nextWritten += 1
            guard hasRowsToWrite(index) else { continue }
            // Each file costs about as much as so many rows.
            written += 32 + (partitions[index].counts?.pendingRows ?? 0)
            if !partitions[index].writeBehind() { ports.tell(.diskFailed(partitions[index].place)) }
        }
        if nextWritten < partitions.count {
            nextWriting = now
            return
        }
        nextWritten = 0
        nextWriting = .never
        storedSinceWriting = 0
        for index in partitions.indices where hasRowsToWrite(index) { nextWriting = now + Self.writeBehindInterval }
    }

    private mutating func hasRowsToWrite(_ index: Int32) -> Bool {
        partitions[index].isRestored && partitions[index].counts?.pendingRows ?? 0 > 0
    }
}
