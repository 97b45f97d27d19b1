import PushmillKafka
import PushmillStages
import PushmillStores

/// Partitions: what they wait for, and logs that do not hold the next offset.
extension Shard where Ports: ~Copyable {
    /// The consumer repeats a request by itself; a new request discards the answer to the pending one.
    private static var asksEvery: Duration { .seconds(15) }
    private static var looksForOldEvery: Duration { .seconds(5) }
    private static var seeksEvery: Duration { .milliseconds(100) }

    mutating func advancePartitions() {
        advanceRevocation()
        var asked: [TopicPartition] = []
        let most = mostLateChanges
        for index in partitions.indices {
            switch partitions[index].state {
            case .asking(let again) where again <= now:
                partitions[index].state = .asking(again: now + Self.asksEvery)
                asked.append(partitions[index].id)
            case .askingRange(let again) where again <= now:
                partitions[index].state = .askingRange(again: now + Self.asksEvery)
                ports.askRange(partitions[index].id)
            case .askingRange: moveInLog(index)
            case .seeking(let offset, let again) where again <= now && !partitions[index].isAnew:
                seek(index, to: offset)
            case .restoring where !restore.contains(index): beginReading(index)
            case .comparing(let mark, let start, let again) where again <= now:
                partitions[index].state = .comparing(mark, start: start, again: now + Self.asksEvery)
                ports.askRecord(Position(partitions[index].id, offset: mark.offset))
            case .stalled where partitions[index].changelog.rereadDue <= now: rereadChangelog(of: index)
            case .running where partitions[index].changelog.rereadDue <= now:
                stall(index, at: partitions[index].ledger.next)
            case .stalled(let offset): endStall(of: index, at: offset)
            case .running where partitions[index].changes.unstored > most && partitions[index].changes.isLate(now):
                // Its changelog does not answer: nothing more is taken from the partition for now.
                stall(index, at: partitions[index].ledger.next)
            default: break
            }
        }
        if !asked.isEmpty { ports.askCommitted(asked) }
        guard !begun.isEmpty else { return }
        ports.read(begun)
        ports.tell(.reading(begun.map(\.partition)))
        begun.removeAll()
    }

    /// When `advancePartitions` next has something to do.
    var partitionsDue: Instant {
        var due = Instant.never
        for index in partitions.indices {
            switch partitions[index].state {
            case .seeking where partitions[index].isAnew: break
            case .asking(let again), .askingRange(let again), .seeking(_, let again), .comparing(_, _, let again):
                due = min(due, again)
            case .restoring where !restore.contains(index): due = min(due, now + Self.seeksEvery)
            case .stalled: due = min(due, now + Self.seeksEvery)
            case .running: due = min(due, partitions[index].changelog.rereadDue)
            case .restoring, .draining, .gone: break
            }
        }
        return due
    }

    mutating func handleCommitted(_ position: Position) {
        guard let index = partitions.index(of: position.partition), case .asking = partitions[index].state else {
            return
        }
        (partitions[index].range, partitions[index].foreignOffset) = (nil, nil)
        guard position.offset >= 0 else { return askRange(index) }
        var completed: [Range<Int64>] = []
        do throws(OffsetMetadata.Rejection) {
            completed = try OffsetMetadata(decoding: position.metadata, committedAt: position.offset).completed
        } catch let error where error.isOfNewerRelease {
            // Without the metadata, finished records would be processed again. The group is asked again after a while.
            partitions[index].state = .asking(again: now + Self.looksForOldEvery)
            return ports.tell(.newerCommit(position, reason: error.explanation))
        } catch {
            ports.tell(.foreignCommit(position, reason: error.explanation))
            // Somebody else has set the offset, perhaps for a log other than that of the counts.
            if settings.counts {
                partitions[index].foreignOffset = position.offset
                return askRange(index)
            }
        }
        start(index, OffsetLedger(startingAt: position.offset, completed: completed))
    }

    /// Asks which offsets the log holds, to find out where the partition begins.
    private mutating func askRange(_ index: Int32) {
        partitions[index].hasPosition = false
        partitions[index].state = .askingRange(again: now)
    }

    /// The partition continues at the ledger's position, as soon as what it needs is restored.
    private mutating func start(_ index: Int32, _ ledger: OffsetLedger) {
        partitions[index].ledger = ledger
        partitions[index].committed = ledger.snapshot()
        partitions[index].hasPosition = true
        partitions[index].state = .restoring
        guard settings.counts else { return beginReading(index) }
        if partitions[index].counts == nil {
            partitions[index].counts = Box(
                PartitionCounts(
                    disk: ports.openDisk(partitions[index].id), budget: settings.countBudget,
                    undoes: settings.isTransactional))
            shareBudget()
        }
        if PlantedFault.isPlanted(.instanceOwnCounts) { return restored(index) }
        if PlantedFault.isPlanted(.staleCountsOnReturn), partitions[index].counts?.value.beginRestore() != nil {
            return restored(index)
        }
        restore.add(index)
    }

    mutating func shareBudget() {
        let share = settings.countBudget / max(1, partitions.indices.count { partitions[$0].counts != nil })
        for index in partitions.indices { partitions[index].counts?.value.budget = share }
    }

    /// The partition's counts are complete.
    mutating func restored(_ index: Int32) {
        partitions[index].isRestored = true
        partitions[index].counts?.value.areOwn = true
        partitions[index].writtenAt = now
        let highest = partitions[index].counts?.value.highest
        partitions[index].incarnation = highest?.incarnation ?? 0
        guard let range = partitions[index].range.take(), let highest else { return beginReading(index) }
        // If this group's members have not committed the offset, and the log ends before what was counted, the log was
        // recreated, unless another process has read on, and counted, since the log's end and the counts were asked
        // for.
        if highest.offset >= range.upperBound {
            guard partitions[index].suspected == highest else {
                partitions[index].suspected = highest
                partitions[index].state = .asking(again: now)
                partitions[index].beganAt = now
                return
            }
            forgetRefusals(of: [partitions[index].id])
            beginIncarnation(index)
        } else if highest.offset >= partitions[index].ledger.position {
            return compareLog(index, in: range)
        }
        beginReading(index)
    }

    mutating func beginReading(_ index: Int32) {
        guard case .restoring = partitions[index].state, ports.prepare(partitions[index].id) else { return }
        let id = partitions[index].id
        let offset = partitions[index].ledger.position
        partitions[index].isUncertain = true
        if partitions[index].mustCommit || partitions[index].ledger.isDirty { isDirty = true }
        if partitions[index].isHandedToConsumer {
            partitions[index].state = .seeking(offset, again: now)
            return ports.tell(.reading([id]))
        }
        partitions[index].isHandedToConsumer = true
        if partitions[index].isAnew {
            partitions[index].isStopped = true
            partitions[index].state = .seeking(offset, again: now)
            return ports.tell(.reading([id]))
        }
        partitions[index].state = .running
        begun.append(Position(id, offset: offset))
    }

    private mutating func seek(_ index: Int32, to offset: Int64) {
        let position = Position(partitions[index].id, offset: offset)
        if partitions[index].isStopped {
            partitions[index].isStopped = false
            ports.read([position])
        } else if !ports.seek(to: position) {
            partitions[index].state = .seeking(offset, again: now + Self.seeksEvery)
            return
        }
        partitions[index].state = .running
        partitions[index].isUncertain = true
    }

    mutating func handleOutOfLog(_ id: TopicPartition) {
        guard let index = partitions.index(of: id) else { return }
        switch partitions[index].state {
        case .running, .seeking:
            partitions[index].range = nil
            partitions[index].isOwnershipAsked = false
            partitions[index].state = .askingRange(again: now)
        case .asking, .askingRange, .comparing, .restoring, .stalled, .draining, .gone: break
        }
    }

    mutating func handleRange(_ id: TopicPartition, _ range: Range<Int64>) {
        guard let index = partitions.index(of: id), case .askingRange = partitions[index].state else { return }
        partitions[index].range = range
        moveInLog(index)
    }

    private mutating func moveInLog(_ index: Int32) {
        guard let range = partitions[index].range else { return }
        guard partitions[index].hasPosition else { return begin(index, in: range) }
        let next = partitions[index].ledger.next
        // Records that are done may lie beyond one that hangs, and counted records beyond both.
        let known = max(
            next, partitions[index].ledger.known, (partitions[index].counts?.value.highest?.offset ?? -1) + 1)
        if range.upperBound < known {
            // Unfinished records of the old log are finished first: nobody could read them again.
            guard partitions[index].isDrained, !partitions[index].isInTransaction, isConfirmed(index) else { return }
            guard next == partitions[index].foreignOffset else { return goBack(index, in: range) }
            // Nothing was taken since somebody else set the offset: the counts tell which log this is.
            ports.tell(.logMadeAnew(partitions[index].id, offset: range.lowerBound))
            partitions[index].epoch &+= 1
            partitions[index].mustCommit = true
            start(index, OffsetLedger(startingAt: range.lowerBound))
        } else if next < range.lowerBound {
            guard isConfirmed(index) else { return }
            ports.tell(.logExpired(partitions[index].id, from: next, to: range.lowerBound))
            partitions[index].range = nil
            partitions[index].gap = max(partitions[index].gap ?? range.lowerBound, range.lowerBound)
            partitions[index].state = .seeking(range.lowerBound, again: now)
        } else {
            ports.tell(.offsetDenied(partitions[index].id, offset: next))
            partitions[index].range = nil
            partitions[index].state = .seeking(next, again: now)
        }
    }

    /// While the log lost records, another member may have owned the partition and its counts. Asks the group with a
    /// commit and returns false until the group accepts it. With transactions, adding the offsets asks the group.
    private mutating func isConfirmed(_ index: Int32) -> Bool {
        if settings.isTransactional || partitions[index].isOwnershipAsked && confirmation == nil { return true }
        if confirmation == nil { confirm(from: now) }
        partitions[index].isOwnershipAsked = true
        return false
    }

    /// Nothing is committed for the partition: `auto.offset.reset` says where it begins. That offset is committed at
    /// once, so the next owner begins there too.
    private mutating func begin(_ index: Int32, in range: Range<Int64>) {
        if let offset = partitions[index].foreignOffset {
            partitions[index].mustCommit = true
            return start(index, OffsetLedger(startingAt: offset))
        }
        switch settings.reset {
        case .earliest, .latest:
            partitions[index].mustCommit = true
            let usual = settings.reset == .earliest ? range.lowerBound : range.upperBound
            // A partition that was read before everything had to be asked again continues from its last commit.
            let former = partitions[index].committed.offset
            let offset = partitions[index].isHandedToConsumer && range.contains(former) ? former : usual
            start(index, OffsetLedger(startingAt: offset))
        case .error:
            partitions[index].range = nil
            ports.tell(.offsetMissing(partitions[index].id))
            partitions[index].state = .asking(again: now + .seconds(10))
        }
    }
}
