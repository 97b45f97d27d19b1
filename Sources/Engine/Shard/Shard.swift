import PushmillKafka
package import PushmillStages
import PushmillStores

/// One thread's engine: a member of the group with its partitions, from poll to commit. `turn` does what is due and never
/// waits; its thread waits in between.
package struct Shard<Ports: ShardPorts & ~Copyable>: ~Copyable {
    /// Messages that are taken before the first of them runs: their accounts are read together.
    static var batchSize: Int { 256 }
    /// So many reports ahead the memory of a count is fetched.
    static var lookAhead: Int { 4 }
    /// So many messages ahead what stages look up is prepared.
    static var prepareDistance: Int { 8 }

    let settings: ShardSettings
    package var ports: Ports

    var now: Instant
    var entries: EntryTable
    var partitions = PartitionTable<Ports>()
    /// Partitions that this turn begins to read: `advancePartitions` tells the consumer of all of them at once.
    var begun: [Position] = []
    var order = KeyOrder()
    var wakeUps = WakeUps()
    /// Messages of entries that wait, by entry.
    var messages: [Ports.Message?]

    // The batch that is being run.
    var batch: [UInt32] = []
    var batchNext = 0
    /// Entries whose key was released: they run before the rest of the batch.
    var released: [UInt32] = []
    /// Since when no message may run.
    var heldUpSince: Instant?

    // What was published.
    var retries = OutputRetries<Ports.Output>()
    var sequence: UInt64 = 0
    /// An output came back, with the guarantee at-least-once: what waits behind it in the producer is taken back, too.
    var mustPurge = false
    /// `sendHeld` has seen outputs that wait, and has not told yet that they go on.
    var areOutputsHeld = false
    /// Something was published since the producer was told to send what it has.
    var hasUnsent = false
    /// There was no room for another message, at least once, and little has been made since.
    var isFull = false
    /// Changelog records that are not answered.
    var changesUnanswered = 0
    /// Changes of all partitions that the changelog is not known to have.
    var changesUnstored = 0
    /// When the unpublished ones are to be published.
    var changesDue = Instant.never
    /// Records whose outputs were refused with others, with transactions: they are sent alone when they come again.
    var suspects: Set<RefusedRecord> = []
    /// Records whose outputs were refused alone, with transactions: they become dead letters when they come again.
    var poisonRecords: [RefusedRecord: Poison] = [:]
    var isReplacingProducer = false
    var nextReplacement = Instant.past
    /// Producers that were replaced since something was acknowledged.
    var replacements = 0

    // Checkpoints.
    var checkpoint: Checkpoint
    /// What brokers said to a step of the transaction that is to be aborted.
    var abortReason: String?
    var isDirty = false
    /// Messages that are done since marks were made.
    var doneSinceMarks = 0
    /// Messages that were done before, and are not committed.
    var doneInMarks = 0
    var marks: [Checkpoint.Mark] = []
    /// When what is stored is written to the disks of counts.
    var nextWriting = Instant.never
    /// The partition that is written next, of the round that is under way.
    var nextWritten = 0
    /// Changes of counts since the last round.
    var storedSinceWriting = 0
    /// When everything is committed once more, since it is not known which commit came last.
    var nextRecommit = Instant.never
    /// Until then no dead letter is published: their topic is away.
    var lettersFrom = Instant.past

    // The group.
    var revocation: Revocation?
    var restore = ChangelogRestore()
    var ending: Ending
    var lastTurn: Instant
    /// The number of the commit by which the group is asked whether the partitions are still this shard's, as after its
    /// thread did not run for long; nil where nothing is asked. Until the group has taken it nothing is published.
    var confirmation: UInt32?
    /// The number of the last such commit. They count down from the top, and those of checkpoints up: they do not meet.
    private var lastConfirmation = UInt32.max
    var nextConfirmation = Instant.past
    /// How many such commits were made since `confirm`: one partition after the other is asked about.
    private var asked = 0

    // Kept for their memory.
    private var reports: [OutputReport<Ports.Output>] = []
    private var stageResults: [Int] = []

    package var figures: ShardFigures { ShardFigures(self) }

    package init(_ settings: ShardSettings, ports: consuming Ports) {
        self.settings = settings
        now = ports.now
        lastTurn = ports.now
        self.ports = ports
        entries = EntryTable(capacity: max(1, settings.maxInFlight))
        messages = Array(repeating: nil, count: max(1, settings.maxInFlight) + 1)
        checkpoint = Checkpoint(isTransactional: settings.isTransactional, interval: settings.checkpointInterval)
        ending = Ending(grace: settings.shutdownGrace)
    }

    /// The group has been left, or the grace is over.
    package var hasEnded: Bool { ending.hasEnded }

    /// Does what is due. Returns when it is to be called again at the latest; news wakes the thread before that.
    package mutating func turn() -> Instant {
        now = ports.now
        // Who leaves asks nothing more: librdkafka ends the process over a commit that comes while it takes leave.
        if !ending.isLeaving { noticeAbsence() }
        for _ in 0..<ports.takeTerminations() { terminate() }
        takeEvents()
        if ending.isLeaving {
            advanceEnding()
            return hasEnded ? .never : min(ending.deadline, now + .milliseconds(50))
        }
        takeReports()
        // A count that changes within a checkpoint of a transaction would be neither part of it nor of the next.
        let tookOutputs = checkpoint.takesOutputs
        if tookOutputs {
            takeStageResults()
            fireWakeUps()
        }
        sendHeld()
        readChangelog()
        takeMessages()
        advancePartitions()
        advanceCheckpoint()
        advanceEnding()
        lastTurn = now
        // Nobody wakes the thread again for stages that have ended meanwhile.
        if checkpoint.takesOutputs, !tookOutputs, !hasEnded { return now }
        return hasEnded ? .never : nextTurn
    }

    package var wantsRecords: Bool { canRun && batchNext == batch.count && hasRoom && ending.isRunning }

    /// The group is sure of this member, and its producer works.
    var mayPublish: Bool { confirmation == nil && !isReplacingProducer }

    private var nextTurn: Instant {
        if batchNext < batch.count || !released.isEmpty, canRun { return now }
        if retries.outputs.isCollected || retries.letters.isCollected, !isReplacingProducer { return now }
        var next = checkpoint.wakeUp(isDirty: isDirty)
        if checkpoint.takesOutputs { next = min(next, wakeUps.earliest(entries)) }
        next = min(next, ending.deadline, revocation?.deadline ?? .never, nextWriting, nextRecommit)
        if checkpoint.takesOutputs, mayPublish {
            let soon = now + .milliseconds(1)
            if let resends = retries.outputs.resendsAt { next = min(next, max(resends, soon)) }
            if let resends = retries.letters.resendsAt { next = min(next, max(resends, lettersFrom, soon)) }
        }
        if checkpoint.takesChanges, !isReplacingProducer { next = min(next, changesDue) }
        // By then the group or a changelog may have become late.
        if changesUnstored + doneSinceMarks + doneInMarks > 0, !hasRoom { next = min(next, now + .milliseconds(250)) }
        // A thread that does not turn for half a session is taken to have been away.
        if !servesNothing { next = min(next, now + settings.sessionTimeout / 4) }
        if isReplacingProducer { next = min(next, nextReplacement) }
        if confirmation != nil { next = min(next, nextConfirmation) }
        if !restore.isIdle { next = min(next, restore.mayHaveMore ? now : now + Self.restoringPause) }
        return min(next, partitionsDue)
    }

    private mutating func takeEvents() {
        for event in ports.takeEvents() { handle(event) }
        // One that nobody waits for any more is passed over when its turn comes.
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
        reports.removeAll(keepingCapacity: true)
        // Once for all: librdkafka looks at every partition of every topic for it.
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

    /// A planted fault: what a stage gives for an entry that has ended without it.
    private mutating func publishLate(_ index: Int) {
        guard entries[UInt32(index)].state != .suspended, ports.resume(entry: index, now: now) != nil else { return }
        _ = ports.publish(tag: 0)
    }

    private mutating func fireWakeUps() {
        // At most once for each.
        for _ in 0..<wakeUps.count {
            guard let entry = wakeUps.next(dueAt: now, &entries) else { return }
            handle(ports.expire(entry: Int(entry), now: now), of: entry)
        }
    }

    /// A thread that did not run for long may be a member no more, and not know it: nothing is published before the group
    /// has taken a commit of ours. A transaction is asked by its offsets.
    private mutating func noticeAbsence() {
        let limit = settings.sessionTimeout / 2
        if now >= lastTurn + limit, !settings.isTransactional, !servesNothing {
            ports.tell(.wasAway(.nanoseconds(Int64(clamping: now.nanoseconds(since: lastTurn)))))
            confirm(from: now)
            // What the group said it had committed may be long past.
            for index in partitions.indices where partitions[index].isBeginning { restoreAgain(index) }
        }
        guard let confirmation, now >= nextConfirmation else { return }
        guard !servesNothing else {
            self.confirmation = nil
            return
        }
        nextConfirmation = now + .milliseconds(1500)
        guard !ports.isJoining else { return }
        // One partition after the other asks, since brokers may know one no more; but none whose log was made anew before the
        // changelog has been told.
        let asking = partitions.indices.filter { partitions[$0].isServed && partitions[$0].mayCommit }
        guard !asking.isEmpty else { return }
        let index = asking[asked % asking.count]
        asked += 1
        let committed = partitions[index].committed
        ports.commit(
            [Position(partitions[index].place, offset: committed.offset, metadata: committed.metadata)],
            number: confirmation)
    }

    /// Nothing is published before the group has taken a commit of this member.
    mutating func confirm(from time: Instant) {
        lastConfirmation &-= 1
        confirmation = lastConfirmation
        nextConfirmation = time
        asked = 0
    }
}

/// A record whose output brokers have refused. Its timestamp tells it from the record that has the same offset when the
/// topic was made anew, which the shard does not learn where it had taken nothing of it.
struct RefusedRecord: Hashable {
    let position: Position
    let timestamp: Int64
}

/// Why an output was refused.
struct Poison {
    let reason: String
    /// It was a dead letter already: the next one only names its message.
    let isLetter: Bool
}
