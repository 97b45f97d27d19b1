import PushmillKafka
import PushmillStages
import PushmillStores

/// Partitions to be given back together: drained within one bound, stored and committed within others.
struct Revocation {
    enum Phase: Equatable {
        case draining
        /// Waits until published outputs are answered and their counts are stored.
        case answering
        /// Waits until the checkpoint of this number has ended.
        case committing(UInt32)
    }

    var partitions: [Int32]
    /// All partitions that the group named, including those that were never read.
    var ids: [TopicPartition]
    var phase = Phase.draining
    /// When the phase ends at the latest.
    var deadline: Instant

    mutating func enter(_ phase: Phase, until deadline: Instant) { (self.phase, self.deadline) = (phase, deadline) }
}

/// Events of the group: partitions are assigned, drained and given back.
extension Shard where Ports: ~Copyable {
    private static var commitBound: Duration { .seconds(2) }

    mutating func handle(_ event: ConsumerEvent) {
        if ending.isLeaving { return }
        switch event {
        case .assigned(let ids): assigned(ids)
        case .revoked(let ids): revoked(ids)
        case .lost(let ids): lost(ids)
        case .memberIDChanged: memberIDChanged()
        case .committed(let positions): for position in positions { handleCommitted(position) }
        case .commitEnded(let number, let outcome): handleCommit(number, outcome)
        case .outOfLog(let id): handleOutOfLog(id)
        case .range(let id, let range): handleRange(id, range)
        case .record(let position, let timestamp): handleRecord(position, timestamp: timestamp)
        case .unowned, .failed: break
        }
    }

    private mutating func assigned(_ ids: [TopicPartition]) {
        ports.tell(.assigned(ids))
        ports.acceptAssignment()
        if !ids.isEmpty { replacementDue = min(replacementDue, now) }
        for id in ids where partitions.index(of: id) == nil {
            _ = partitions.insert(id, topic: ports.number(ofTopic: id.topic), now: now)
        }
        readAnewAll(from: now)
    }

    /// A rebalance may have lost fetched records: at `time`, partitions that stay are sought to the record after the
    /// last one taken. That is when the group has its answer; until then librdkafka reads nothing of them.
    private mutating func readAnewAll(from time: Instant) {
        if PlantedFault.isPlanted(.batchLossTakenForGap) { return }
        for index in partitions.indices {
            switch partitions[index].state {
            case .running: partitions[index].state = .seeking(partitions[index].ledger.next, again: time)
            case .seeking(let offset, _): partitions[index].state = .seeking(offset, again: time)
            case .asking, .askingRange, .comparing, .restoring, .stalled, .draining, .gone: break
            }
        }
    }

    private mutating func revoked(_ ids: [TopicPartition]) {
        ports.tell(.revoked(ids))
        replacementDue = min(replacementDue, now)
        var drained: [Int32] = []
        for id in ids {
            guard let index = partitions.index(of: id) else { continue }
            restore.remove(index)
            begun.removeAll { $0.partition == id }
            partitions[index].state = .draining
            drained.append(index)
        }
        let bound = ending.isRunning ? settings.drain : min(settings.drain, ending.left(now))
        revocation = Revocation(
            partitions: (revocation?.partitions ?? []) + drained, ids: (revocation?.ids ?? []) + ids,
            deadline: now + bound)
        readAnewAll(from: .never)
    }

    private mutating func lost(_ ids: [TopicPartition]) {
        ports.tell(.lost(ids))
        for id in ids { if let index = partitions.index(of: id) { dropPartition(index) } }
        if var open = revocation {
            open.partitions.removeAll { partitions[$0].state == .gone }
            open.ids.removeAll { ids.contains($0) }
            revocation = open.ids.isEmpty ? nil : open
        }
        forgetRefusals(of: ids)
        ports.giveBack(ids)
        ports.forget(ids)
        if servesNothing { confirmation = nil }
        readAnewAll(from: now)
    }

    /// Another member may have owned the partitions in between: how far they are is unknown.
    private mutating func memberIDChanged() {
        guard !servesNothing else { return }
        ports.tell(.memberIDChanged)
        for index in partitions.indices where partitions[index].state != .gone {
            if hasUnanswered(index) { ports.purge(all: false) }
            restoreAgain(index)
            partitions[index].mustCommit = false
            partitions[index].hasPosition = false
        }
        changesDue = now
        isDirty = changesUnstored > 0
    }

    var servesNothing: Bool { partitions.indices.allSatisfy { partitions[$0].state == .gone } }

    /// Drops everything that this shard holds of the partition.
    private mutating func dropPartition(_ index: Int32) {
        // Another member will process again what is not committed, so the open transaction must be aborted.
        if partitions[index].isInTransaction, !PlantedFault.isPlanted(.commitOfFencedEpoch) {
            checkpoint.failTransaction()
        }
        restore.remove(index)
        let id = partitions[index].id
        begun.removeAll { $0.partition == id }
        // Records in the producer's queue would be stored after the next owner's, and old changes and outputs would
        // count as the latest. The purge also takes back everything else in the queue, and may fail the producer if a
        // batch is being sent.
        let isAwaited = hasUnanswered(index)
        dropEntries(of: index)
        if isAwaited { ports.purge(all: false) }
        withChanges(of: index) { $0.removeAll() }
        partitions.remove(index)
        if settings.counts { shareBudget() }
    }

    /// Something of the partition was published, and it is unknown whether brokers have it.
    private func hasUnanswered(_ index: Int32) -> Bool {
        if partitions[index].changesUnanswered > 0 { return true }
        let epoch = partitions[index].epoch
        return entries.indices.contains {
            entries[$0].state != .free && entries[$0].partition == index && entries[$0].epoch == epoch
                && entries[$0].isUnanswered
        }
    }

    mutating func forgetRefusals(of ids: [TopicPartition]) { forgetRefusals { ids.contains($0.partition) } }

    mutating func forgetRefusals(where isPast: (Position) -> Bool) {
        poisonRecords = poisonRecords.filter { !isPast($0.key.position) }
        suspects = suspects.filter { !isPast($0.position) }
    }

    mutating func advanceRevocation() {
        guard let open = revocation else { return }
        switch open.phase {
        case .draining:
            let unfinished = open.partitions.reduce(0) { $0 + partitions[$1].unfinished }
            guard unfinished == 0 || now >= open.deadline else { return }
            if unfinished > 0 {
                ports.tell(.drainTooLong(unfinished: unfinished))
                for index in open.partitions { dropUnpublished(of: index) }
            }
            revocation?.enter(.answering, until: now + Self.commitBound)
            advanceRevocation()
        case .answering:
            guard now >= open.deadline || open.partitions.allSatisfy({ partitions[$0].isDrained }) else { return }
            revocation?.enter(.committing(checkpoint.want()), until: now + Self.commitBound)
        case .committing(let number):
            guard hasCommitted(number) || now >= open.deadline else { return }
            revocation = nil
            giveBack(open)
        }
    }

    private mutating func giveBack(_ revocation: Revocation) {
        for index in revocation.partitions {
            partitions[index].writeLast()
            dropPartition(index)
        }
        forgetRefusals(of: revocation.ids)
        ports.giveBack(revocation.ids)
        ports.forget(revocation.ids)
        ports.tell(.givenBack(revocation.ids))
        readAnewAll(from: now)
    }

    /// The group has everything that was done by the checkpoint of this number.
    func hasCommitted(_ number: UInt32) -> Bool {
        Int32(bitPattern: checkpoint.ended &- number) >= 0 || !isDirty && !checkpoint.isUnderWay
    }

    /// Drops everything unfinished of a partition. Its held outputs are skipped when their turn to be sent comes.
    mutating func dropEntries(of index: Int32) {
        partitions[index].epoch &+= 1
        drop(index, withPublished: true)
        partitions[index].unfinished = 0
    }

    /// Drops everything of every partition, and releases each record and what the partitions needed.
    mutating func giveUp() {
        var ids: [TopicPartition] = []
        for index in partitions.indices where partitions[index].state != .gone {
            dropEntries(of: index)
            ids.append(partitions[index].id)
        }
        for entry in entries.indices { letGo(of: entry) }
        ports.forget(ids)
    }

    /// Leaves what is not published of a partition to its next owner; published outputs go on.
    mutating func dropUnpublished(of index: Int32) {
        partitions[index].giveUp()
        drop(index, withPublished: false)
    }

    private mutating func drop(_ index: Int32, withPublished: Bool) {
        order.removeWaiting(&entries, of: index)
        partitions[index].waiting = 0
        for entry in entries.indices where entries[entry].state != .free && entries[entry].partition == index {
            if entries[entry].isUnanswered {
                // Its report is still to come.
                if withPublished { entries[entry].state = .published }
                continue
            }
            partitions[index].unfinished -= 1
            if entries[entry].state == .suspended {
                wakeUps.remove(entry, &entries)
                if !PlantedFault.isPlanted(.revokedResultPublished) { ports.abandon(entry: Int(entry)) }
            }
            letGo(of: entry)
            entries.remove(entry)
        }
    }
}
