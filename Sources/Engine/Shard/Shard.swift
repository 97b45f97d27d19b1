import PushmillKafka
package import PushmillStages
import PushmillStores

/// The engine of one thread: a group member with its partitions, from poll to commit. `turn` does what is due without
/// waiting for news; the thread waits between turns.
package struct Shard<Ports: ShardPorts & ~Copyable>: ~Copyable {
    /// How many messages are taken at most before the first of them runs: their accounts are read together.
    static var batchSize: Int { 256 }
    /// How many reports ahead a count's memory is prefetched.
    static var lookAhead: Int { 4 }
    /// How many messages ahead the lookups of stages are prepared.
    static var prepareDistance: Int { 8 }
    /// How many messages run together.
    static var groupSize: Int { 16 }

    let settings: ShardSettings
    package var ports: Ports

    var now: Instant
    var entries: EntryTable
    var partitions = PartitionTable<Ports>()
    /// Partitions that this turn starts to read: `advancePartitions` passes all of them to the consumer in one call.
    var begun: [Position] = []
    var order = KeyOrder()
    var wakeUps = WakeUps()
    /// The message of each entry, until it is suspended or `letGo` releases it.
    var messages: [Ports.Message?]

    // The current batch.
    var batch: [UInt32] = []
    var batchNext = 0
    var group: [MessageTurn<Ports.Message>] = []
    /// With transactions: until then a few records wait for others.
    var nextIntake = Instant.past
    /// Entries that have been handed their key: they run before the rest of the batch.
    var unblocked: [UInt32] = []
    /// When messages began to be held up; nil if they may run.
    var heldUpSince: Instant?

    // What was published.
    var retries = OutputRetries<Ports.Output>()
    var sequence: UInt64 = 0
    /// At least once: an output came back, so the outputs queued in the producer are purged as well.
    var mustPurge = false
    /// `sendHeld` has found held outputs, and has not reported yet that outputs flow again.
    var areOutputsHeld = false
    /// Something was published since `flushWhenFull` last flushed the producer.
    var hasUnsent = false
    /// At least once: there was no room for another message, and too little room has become free since.
    var isFull = false
    /// Changelog records that await their delivery report.
    var changesUnanswered = 0
    var window: OutputWindow
    /// With transactions: when the outstanding reports are given up, unless one comes.
    var reportsDue = Instant.never
    /// Changes of all partitions that are not known to be in the changelog.
    var changesUnstored = 0
    /// When unpublished changes are due.
    var changesDue = Instant.never
    // In nanoseconds, because adding a duration divides 128 bits.
    /// How long changes wait to be published together, at most.
    let changesDelay: UInt64
    /// The settings' `writeBehindInterval`.
    let writeBehindDelay: UInt64
    /// Since when brokers report faults of their own for outputs, and when they last did.
    var brokerFaults: (since: Instant, last: Instant)?
    /// With transactions: records whose outputs were refused with others; they are sent alone when read again.
    var suspects: Set<RefusedRecord> = []
    /// With transactions: records whose outputs were refused alone; they become dead letters when read again.
    var poisonRecords: [RefusedRecord: Poison] = [:]
    var isReplacingProducer = false
    var nextReplacement = Instant.past
    /// The next producer is created no earlier, unless partitions come or go, or the process ends.
    var replacementDue = Instant.past
    var replacements: Replacements

    // Checkpoints.
    var checkpoint: Checkpoint
    /// The error of the step that failed, if the transaction is aborted because of it.
    var abortReason: String?
    var isDirty = false
    /// Messages done since marks were last made.
    var doneSinceMarks = 0
    /// Messages done before that and not committed.
    var doneInMarks = 0
    var marks: [Checkpoint.Mark] = []
    /// When changes that the changelog has are next written to the disks of counts.
    var writeBehindDue = Instant.never
    /// The partition to be written next in the current round.
    var writeBehindCursor = 0
    /// Changes that the changelog has taken since the last round.
    var storedSinceWriting = 0
    /// When everything is committed once more, because it is unknown which commit reached the group last.
    var nextRecommit = Instant.never
    /// No dead letter is published before this time: their topic was unavailable, or refused one.
    var lettersPausedUntil = Instant.past

    // The group.
    var revocation: Revocation?
    var restore = ChangelogRestore()
    var ending: Ending
    var lastTurn: Instant
    /// A commit was denied: one partition may be why, such as one that its topic has lost, and librdkafka reports its
    /// error for all. Each is committed by itself until nothing is left to commit.
    var commitsSingly = false
    /// The number of the commit that asks the group whether this shard still owns its partitions, as after a long pause
    /// of its thread; nil if none is pending. Until the group accepts it, only changelog rewrites are published.
    var confirmation: UInt32?
    /// The number of the last such commit. They count down from the maximum, checkpoints up: they do not collide.
    private var lastConfirmation = UInt32.max
    var nextConfirmation = Instant.past
    /// How many such commits were made since `confirm`: each asks about the next partition.
    private var confirmationAttempts = 0

    // Buffers, kept to reuse their memory.
    private var reports: [OutputReport<Ports.Output>] = []
    private var stageResults: [Int] = []

    package var figures: ShardFigures { ShardFigures(self) }

    package init(_ settings: ShardSettings, ports: consuming Ports) {
        self.settings = settings
        changesDelay = min(Self.changesDelay, settings.checkpointInterval).wholeNanoseconds
        writeBehindDelay = settings.writeBehindInterval.wholeNanoseconds
        now = ports.now
        lastTurn = ports.now
        self.ports = ports
        entries = EntryTable(capacity: max(1, settings.maxInFlight))
        window = OutputWindow(most: max(1, settings.maxInFlight))
        messages = Array(repeating: nil, count: max(1, settings.maxInFlight) + 1)
        replacements = Replacements(isTransactional: settings.isTransactional)
        checkpoint = Checkpoint(isTransactional: settings.isTransactional, interval: settings.checkpointInterval)
        ending = Ending(grace: settings.shutdownGrace)
    }

    /// The shard has left the group, or the grace period is over.
    package var hasEnded: Bool { ending.hasEnded }

    /// Does what is due. Returns the latest time for the next call; news wakes the thread earlier.
    package mutating func turn() -> Instant {
        now = ports.now
        // No commits while leaving: librdkafka aborts the process if one arrives while it closes the consumer.
        if !ending.isLeaving {
            noticeAbsence()
            retryConfirmation()
        }
        for _ in 0..<ports.takeTerminations() { terminate() }
        takeEvents()
        if ending.isLeaving {
            advanceEnding()
            return hasEnded ? .never : min(ending.deadline, now + .milliseconds(50))
        }
        takeReports()
        // A count that changes during a checkpoint would belong to neither this transaction nor the next.
        let tookOutputs = checkpoint.takesOutputs
        if tookOutputs {
            takeStageResults()
            fireWakeUps()
        }
        sendHeld()
        readChangelog()
        takeMessages()
        hurryCrowds()
        advancePartitions()
        advanceCheckpoint()
        advanceEnding()
        lastTurn = now
        // Stages that have ended in the meantime do not wake the thread again.
        if checkpoint.takesOutputs, !tookOutputs, !hasEnded { return now }
        return hasEnded ? .never : nextTurn
    }

    package var wantsRecords: Bool { canRun && batchNext == batch.count && hasRoom && ending.isRunning && mayTake }

    /// No confirmation by the group is pending, and the producer works.
    var mayPublish: Bool { confirmation == nil && !isReplacingProducer }

    private var nextTurn: Instant {
        if batchNext < batch.count || !unblocked.isEmpty, canRun { return now }
        if retries.outputs.isCollected || retries.letters.isCollected, !isReplacingProducer { return now }
        var next = checkpoint.wakeUp(isDirty: isDirty)
        if checkpoint.takesOutputs { next = min(next, wakeUps.earliest(entries)) }
        next = min(next, ending.deadline, revocation?.deadline ?? .never, writeBehindDue, nextRecommit, reportsDue)
        if checkpoint.takesOutputs, mayPublish {
            let soon = now + .milliseconds(1)
            if let resends = retries.outputs.resendsAt { next = min(next, max(resends, soon)) }
            if let resends = retries.letters.resendsAt { next = min(next, max(resends, lettersPausedUntil, soon)) }
        }
        if checkpoint.takesChanges, !isReplacingProducer { next = min(next, changesDue) }
        if now < nextIntake { next = min(next, nextIntake) }
        // By then the group or a changelog may count as late, and what waits for it stops taking up room.
        if changesUnstored + doneSinceMarks + doneInMarks > 0, !hasRoom { next = min(next, now + .milliseconds(250)) }
        // A thread that makes no turn for half a session timeout counts as having been away.
        if !servesNothing { next = min(next, now + settings.sessionTimeout / 4) }
        if isReplacingProducer { next = min(next, max(nextReplacement, replacementDue)) }
        if confirmation != nil { next = min(next, nextConfirmation) }
        if !restore.isIdle { next = min(next, restore.mayHaveMore ? now : now + Self.restoringPause) }
        return min(next, partitionsDue)
    }

    private mutating func takeEvents() {
        for event in ports.takeEvents() { handle(event) }
        // A letter whose entry is gone is skipped when its turn to be sent comes.
        for (tag, letter) in ports.takeLetters() {
            let isSuspect = entries.index(ofTag: tag).map { suspects.contains(refusedRecord($0)) } ?? false
            retries.letters.hold(letter, tag: tag, isSuspect: isSuspect, now: now)
        }
    }

    private mutating func takeReports() {
        ports.takeReports(into: &reports)
        for index in reports.indices {
            if index + Self.lookAhead < reports.count { prefetch(reports[index + Self.lookAhead]) }
            handle(reports[index])
        }
        if settings.isTransactional { awaitReports(after: reports.count) }
        reports.removeAll(keepingCapacity: true)
        // Once for all reports: a purge makes librdkafka look at every partition of every topic.
        if mustPurge {
            mustPurge = false
            ports.purge(all: false)
        }
        replaceProducerIfFailed()
        collectReturned()
    }

    private mutating func takeStageResults() {
        ports.takeStageResults(into: &stageResults)
        for index in stageResults {
            let entry = UInt32(truncatingIfNeeded: index)
            if PlantedFault.isPlanted(.deadlineBesideStage) || PlantedFault.isPlanted(.revokedResultPublished) {
                publishLate(index)
            }
            guard index <= entries.capacity, entries[entry].state == .suspended,
                let step = ports.resume(entry: index, now: now)
            else { continue }
            wakeUps.remove(entry, &entries)
            handle(step, of: entry)
        }
        stageResults.removeAll(keepingCapacity: true)
    }

    /// A planted fault: publishes the result of a stage whose entry has already ended without it.
    private mutating func publishLate(_ index: Int) {
        guard entries[UInt32(index)].state != .suspended, ports.resume(entry: index, now: now) != nil else { return }
        _ = ports.publish(tag: 0)
    }

    private mutating func fireWakeUps() {
        // At most once for each: `handle` may insert an entry again.
        for _ in 0..<wakeUps.count {
            guard let entry = wakeUps.next(dueAt: now, &entries) else { return }
            handle(ports.wakeUp(entry: Int(entry), now: now, isLate: entries[entry].isLate), of: entry)
        }
    }

    /// After a long pause of the thread the group may have dropped this member unnoticed: nothing new is published
    /// until the group accepts a commit of ours. With transactions, adding the offsets asks the group.
    private mutating func noticeAbsence() {
        let limit = settings.sessionTimeout / 2
        guard now >= lastTurn + limit, !settings.isTransactional, !servesNothing else { return }
        ports.tell(.wasAway(.nanoseconds(Int64(clamping: now.nanoseconds(since: lastTurn)))))
        confirm(from: now)
        // The committed offsets that the group has reported may be outdated.
        for index in partitions.indices where partitions[index].isBeginning { restoreAgain(index) }
    }

    /// Makes the commit that asks the group, or makes it again while the group has not accepted it.
    private mutating func retryConfirmation() {
        guard let confirmation, now >= nextConfirmation else { return }
        guard !servesNothing else {
            self.confirmation = nil
            return
        }
        nextConfirmation = now + .milliseconds(1500)
        guard !ports.isJoining else { return }
        // Each attempt commits the next partition, since brokers may not know one of them any more. A partition whose
        // log was recreated is left out until the changelog has a record of that.
        let asking = partitions.indices.filter { partitions[$0].isServed && partitions[$0].mayCommit }
        guard !asking.isEmpty else { return }
        let index = asking[confirmationAttempts % asking.count]
        confirmationAttempts += 1
        let committed = partitions[index].committed
        ports.commit(
            [Position(partitions[index].id, offset: committed.offset, metadata: committed.metadata)],
            number: confirmation)
    }

    /// Holds back publishing until the group accepts a commit of this member, which is made at `time` at the earliest.
    mutating func confirm(from time: Instant) {
        lastConfirmation &-= 1
        confirmation = lastConfirmation
        nextConfirmation = time
        confirmationAttempts = 0
    }
}

/// A record whose output brokers have refused. The timestamp distinguishes it from the record with the same offset in a
/// recreated topic: the shard does not notice the recreation if it had taken nothing of the topic.
struct RefusedRecord: Hashable {
    let position: Position
    let timestamp: Int64
}

/// Why an output was refused.
struct Poison {
    let reason: String
    /// The refused output was a dead letter: the next one only names its message.
    let isLetter: Bool
}
