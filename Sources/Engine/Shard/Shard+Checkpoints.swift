import PushmillKafka
import PushmillStages
import PushmillStores

/// Checkpoints: what the machine asks for.
extension Shard where Ports: ~Copyable {
    /// The longest that what is stored waits for the disk: the more it is at once, the fewer pages a row costs.
    static var writeBehindInterval: Duration { .seconds(10) }
    /// Rows after which no other partition's are written before the next batch of messages.
    private static var writeBehindRows: Int { 256 }
    /// Of one partition at once: messages wait some 4 ms. With fewer a round would last so long that after a kill much more
    /// of the changelog is to be read.
    private static var writeBehindPiece: Int { 1024 }
    private static var recommitDelay: Duration { .seconds(5) }

    mutating func advanceCheckpoint() {
        replaceProducer()
        isFull = !settings.isTransactional && !hasRoom
        if changesDue <= now || isFull && changesDue < .never { publishChanges() }
        if isFull { hurry() }
        // Each action leads to the next state; a few at most follow one another without waiting.
        for _ in 0..<8 {
            let action = checkpoint.advance(
                now: now, isDirty: isDirty, unanswered: retries.outstanding + changesUnanswered + changesUnstored)
            guard action != .none else { break }
            perform(action)
        }
        writeBehindIfDue()
        if now >= nextRecommit {
            nextRecommit = .never
            recommit()
        }
    }

    /// No message can join what waits to be sent with others: it is sent, and what is done is committed.
    private mutating func hurry() {
        if doneSinceMarks > 0 { _ = checkpoint.want() }
        guard hasUnsent else { return }
        hasUnsent = false
        ports.flush()
    }

    mutating func recommit() {
        for index in partitions.indices where partitions[index].isServed { partitions[index].mustCommit = true }
        isDirty = true
    }

    mutating func perform(_ action: Checkpoint.Action) {
        switch action {
        case .none: break
        case .commit: commit()
        case .giveUpCommit:
            ports.tell(.commitFailed(reason: "the group does not answer"))
            dropMarks()
            // The commit that was given up may still reach the group after a later one and undo it: all is committed again.
            nextRecommit = now + Self.recommitDelay
        case .initialize: step(.initialize)
        case .begin: step(.begin)
        case .flush:
            publishChanges()
            ports.flush()
        case .mark: makeMarks()
        case .addOffsets: step(.addOffsets(marks.map(\.position)))
        case .endTransaction: step(.commit)
        case .dropMarks: dropMarks()
        case .abort: step(.abort)
        case .rewind: rewindAll()
        case .replaceProducer: beginReplacement()
        }
    }

    /// One moment: how far partitions are.
    private mutating func makeMarks() {
        isDirty = false
        doneInMarks += doneSinceMarks
        doneSinceMarks = 0
        for index in partitions.indices where partitions[index].needsCommit {
            let snapshot = partitions[index].ledger.snapshot(
                limit: settings.metadataLimit, version: settings.formatVersion)
            if snapshot.leftOut > 0 {
                ports.tell(.metadataCut(partitions[index].place, leftOut: snapshot.leftOut))
            }
            marks.append(
                Checkpoint.Mark(
                    partition: index, epoch: partitions[index].epoch, place: partitions[index].place,
                    snapshot: snapshot, lastStored: partitions[index].lastStored))
        }
    }

    private mutating func dropMarks() {
        marks.removeAll(keepingCapacity: true)
        isDirty = true
    }

    private mutating func commit() {
        makeMarks()
        guard !marks.isEmpty else { return ended(checkpoint.number, .accepted) }
        guard !ports.isJoining else { return ended(checkpoint.number, .retry(.unanswered)) }
        ports.commit(marks.map(\.position), number: checkpoint.number)
    }

    mutating func handleCommit(_ number: UInt32, _ outcome: CommitAnswer) {
        if number == confirmation { return confirmed(outcome) }
        ended(number, outcome)
    }

    private mutating func confirmed(_ outcome: CommitAnswer) {
        guard outcome == .accepted else { return }
        confirmation = nil
        changesDue = now
        // A commit that was under way before may be undone by the one that asked, and by earlier ones that asked in vain.
        recommit()
        nextRecommit = now + Self.recommitDelay
        ports.tell(.confirmed)
    }

    private mutating func ended(_ number: UInt32, _ outcome: CommitAnswer) {
        guard checkpoint.committed(number, outcome, now: now) else { return }
        if outcome != .accepted { isDirty = true }
        switch outcome {
        case .accepted:
            doneInMarks = 0
            acceptMarks { _ in true }
        case .partly(let refused):
            doneInMarks = 0
            acceptMarks { !refused.contains($0) }
            ports.tell(.commitFailed(reason: "some partitions were refused"))
        case .denied(let error): ports.tell(.commitFailed(reason: error.name))
        case .retry(let error):
            nextRecommit = now + Self.recommitDelay
            if checkpoint.isOverdue(now) { ports.tell(.commitFailed(reason: error.name)) }
        case .refused:
            ports.tell(.commitFailed(reason: "the group does not take offsets of this member"))
            // It may have given this member's partitions to others, and will say so.
            confirm(from: now + .milliseconds(200))
        }
        marks.removeAll(keepingCapacity: true)
    }

    /// By taking its offsets the group has said that a partition was this shard's all the time: what its changelog has up to
    /// the last record of this shard is known.
    mutating func acceptMarks(where isAccepted: (TopicPartition) -> Bool) {
        for mark in marks where partitions[mark.partition].epoch == mark.epoch && isAccepted(mark.place) {
            partitions[mark.partition].ledger.committed(mark.snapshot)
            partitions[mark.partition].committed = mark.snapshot
            partitions[mark.partition].mustCommit = false
            partitions[mark.partition].noteKnown(mark.lastStored)
        }
    }

    /// It is not known what was committed: the group is asked again, and counts are restored.
    mutating func restoreAll() {
        for index in partitions.indices {
            if partitions[index].isServed { restoreAgain(index) } else { removeCounted(of: index) }
        }
        changesDue = now
        isDirty = changesUnstored > 0
    }

    mutating func restoreAgain(_ index: Int32, after delay: Duration = .zero) {
        if partitions[index].isInTransaction { checkpoint.failTransaction() }
        restore.remove(index)
        partitions[index].isRestored = false
        partitions[index].changelogEnd = nil
        dropEntries(of: index)
        // What was to be told before a commit is not any more: one that goes is left as the group has it.
        if !partitions[index].mayCommit { partitions[index].hasPosition = false }
        withChanges(of: index) { $0.removeAll() }
        partitions[index].lastStored = nil
        partitions[index].counts = nil
        partitions[index].gap = nil
        // At least once what is done stays done: the group may have taken a commit of it, whose answer finds another
        // epoch.
        if settings.isTransactional {
            partitions[index].rewind()
            // A transaction whose end is not known may have committed more than where it begins. Where it has not, the
            // next owner begins there again.
            if settings.reset == .earliest { partitions[index].mustCommit = false }
        }
        guard partitions[index].state != .draining else { return }
        partitions[index].state = .asking(again: now + delay)
        partitions[index].beganAt = now
    }

    mutating func failDisk(of index: Int32) {
        // Nothing has failed where it is another shard's by now.
        if partitions[index].counts?.value.disk.isTaken == false { ports.tell(.diskFailed(partitions[index].place)) }
        // What cannot be read is begun anew.
        _ = partitions[index].counts?.value.restart()
        restoreAgain(index, after: .seconds(1))
    }

    private mutating func writeBehindIfDue() {
        guard now >= nextWriting else { return }
        var written = 0
        while written < Self.writeBehindRows, nextWritten < partitions.count {
            let index = Int32(nextWritten)
            guard hasRowsToWrite(index) else {
                nextWritten += 1
                continue
            }
            // Each file costs about as much as so many rows.
            written += 32 + (partitions[index].counts?.value.pendingRows ?? 0)
            writeBehind(index)
            if partitions[index].counts?.value.isWritingBehind != true { nextWritten += 1 }
        }
        guard nextWritten == partitions.count else { return }
        nextWritten = 0
        nextWriting = .never
        storedSinceWriting = 0
        for index in partitions.indices where hasRowsToWrite(index) { nextWriting = now + Self.writeBehindInterval }
    }

    private mutating func writeBehind(_ index: Int32) {
        guard !partitions[index].writeBehind(Self.writeBehindPiece) else { return }
        if partitions[index].counts?.value.disk.isTaken ?? false {
            failDisk(of: index)
        } else {
            ports.tell(.diskFailed(partitions[index].place))
        }
    }

    private mutating func hasRowsToWrite(_ index: Int32) -> Bool {
        partitions[index].isRestored && partitions[index].counts?.value.pendingRows ?? 0 > 0
    }
}
