import PushmillKafka
import PushmillStages
import PushmillStores

/// Checkpoints: performs the actions of the state machine `Checkpoint`.
extension Shard where Ports: ~Copyable {
    /// After this many rows no other partition is written before the next batch of messages.
    private static var writeBehindRows: Int { 256 }
    /// Rows of one partition's file written at once, in some 1 ms.
    private static var writeBehindPiece: Int { 16_384 }
    private static var recommitDelay: Duration { .seconds(5) }

    mutating func advanceCheckpoint() {
        replaceProducer()
        isFull = !settings.isTransactional && !hasRoom
        if changesDue <= now || isFull && changesDue < .never { publishChanges() }
        if isFull { flushWhenFull() }
        // Each action leads to the next state; at most a few follow one another without waiting.
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

    /// The shard is full, so no message can join an open batch: sends it, and commits what is done.
    private mutating func flushWhenFull() {
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
            // The given-up commit may still reach the group after a later one and undo it: all is committed again.
            nextRecommit = now + Self.recommitDelay
        case .initialize: step(.initialize)
        case .begin: step(.begin)
        case .flush:
            window.transactionClosed(now: now)
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

    /// Captures how far each partition is at one moment.
    private mutating func makeMarks() {
        isDirty = false
        doneInMarks += doneSinceMarks
        doneSinceMarks = 0
        for index in partitions.indices where partitions[index].needsCommit {
            let snapshot = partitions[index].ledger.snapshot(
                limit: settings.metadataLimit, version: settings.formatVersion)
            if snapshot.leftOut > 0 {
                ports.tell(.metadataCut(partitions[index].id, leftOut: snapshot.leftOut))
            }
            marks.append(
                Checkpoint.Mark(
                    partition: index, epoch: partitions[index].epoch, id: partitions[index].id,
                    snapshot: snapshot, lastStored: partitions[index].changelog.lastStored))
        }
    }

    private mutating func dropMarks() {
        marks.removeAll(keepingCapacity: true)
        isDirty = true
    }

    private mutating func commit() {
        makeMarks()
        guard !marks.isEmpty else { return ended(checkpoint.number, .accepted) }
        if commitsSingly, marks.count > 1 {
            // Those that are to be given back wait for this checkpoint alone.
            let going = marks.filter { partitions[$0.partition].state == .draining }
            let next = going.isEmpty ? marks : going
            marks = [next[Int(checkpoint.number) % next.count]]
            isDirty = true
        }
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
        // The confirming commit, or an earlier one without an answer, may undo a commit that was in flight before.
        recommit()
        nextRecommit = now + Self.recommitDelay
        ports.tell(.confirmed)
    }

    private mutating func ended(_ number: UInt32, _ outcome: CommitAnswer) {
        guard checkpoint.committed(number, outcome, now: now) else { return }
        if outcome != .accepted { isDirty = true }
        switch outcome {
        case .accepted:
            if !isDirty { commitsSingly = false }
            doneInMarks = 0
            acceptMarks { _ in true }
        case .partly(let refused):
            doneInMarks = 0
            acceptMarks { !refused.contains($0) }
            ports.tell(.commitFailed(reason: "some partitions were refused"))
        case .denied(let error):
            commitsSingly = !PlantedFault.isPlanted(.deniedCommitRepeated)
            ports.tell(.commitFailed(reason: error.name))
        case .retry(let error):
            nextRecommit = now + Self.recommitDelay
            if checkpoint.isOverdue(now) { ports.tell(.commitFailed(reason: error.name)) }
        case .refused:
            ports.tell(.commitFailed(reason: "the group does not accept offsets from this member"))
            // The group may have given this member's partitions to others, and will report that.
            confirm(from: now + .milliseconds(200))
        }
        marks.removeAll(keepingCapacity: true)
    }

    /// By accepting the offsets the group confirms that this shard owned a partition all the time: the content of its
    /// changelog up to this shard's last record is known.
    mutating func acceptMarks(where isAccepted: (TopicPartition) -> Bool) {
        for mark in marks where partitions[mark.partition].epoch == mark.epoch && isAccepted(mark.id) {
            partitions[mark.partition].ledger.committed(mark.snapshot)
            partitions[mark.partition].committed = mark.snapshot
            partitions[mark.partition].mustCommit = false
            partitions[mark.partition].isAnew = false
            partitions[mark.partition].changelog.know(mark.lastStored)
        }
    }

    /// It is unknown what was committed: asks the group again, and restores counts.
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
        partitions[index].isAnew = false
        partitions[index].changelog.forget()
        dropEntries(of: index)
        // The changelog record that must precede a commit is dropped: a draining partition is left as the group has it.
        if !partitions[index].mayCommit { partitions[index].hasPosition = false }
        withChanges(of: index) { $0.removeAll() }
        partitions[index].gap = nil
        // At least once, what is done stays done: the group may have accepted a commit of it whose answer arrives in a
        // later epoch.
        if settings.isTransactional {
            // The changelog may have lost what only memory knows: what was committed stays.
            partitions[index].counts?.value.rollBack()
            partitions[index].rewind()
            // A transaction of unknown outcome may have committed more than the offset where the partition begins. If
            // it has not, the next owner begins there again.
            if settings.reset == .earliest { partitions[index].mustCommit = false }
        } else {
            partitions[index].counts = nil
        }
        guard partitions[index].state != .draining else { return }
        partitions[index].state = .asking(again: now + delay)
        partitions[index].beganAt = now
    }

    mutating func failDisk(of index: Int32) {
        // An unreadable file is started from scratch.
        _ = partitions[index].counts?.value.restart()
        partitions[index].counts = nil
        ports.tell(.diskFailed(partitions[index].id))
        restoreAgain(index, after: .seconds(1))
    }

    private mutating func writeBehindIfDue() {
        guard now >= writeBehindDue else { return }
        var written = 0
        while written < Self.writeBehindRows, writeBehindCursor < partitions.count {
            let index = Int32(writeBehindCursor)
            guard partitions[index].isWorthWriting(now) else {
                writeBehindCursor += 1
                continue
            }
            // Each file costs about as much as this many rows.
            written += 32 + partitions[index].pendingRows
            writeBehind(index)
            if partitions[index].counts?.value.isWritingBehind != true { writeBehindCursor += 1 }
        }
        guard writeBehindCursor == partitions.count else { return }
        writeBehindCursor = 0
        writeBehindDue = .never
        storedSinceWriting = 0
        for index in partitions.indices where partitions[index].pendingRows > 0 {
            writeBehindDue = now + settings.writeBehindInterval
        }
    }

    private mutating func writeBehind(_ index: Int32) {
        if partitions[index].writeBehind(Self.writeBehindPiece) {
            partitions[index].writtenAt = now
        } else if partitions[index].counts?.value.disk.isDamaged == true {
            failDisk(of: index)
        } else {
            ports.tell(.diskNotWritten(partitions[index].id))
        }
    }
}
