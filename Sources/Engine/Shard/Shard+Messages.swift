import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores

/// Messages: taken in batches, run in order, finished.
extension Shard where Ports: ~Copyable {
    /// Messages may run: their outputs can be published.
    var canRun: Bool {
        checkpoint.takesOutputs && retries.outputs.isIdle && mayPublish
    }

    /// Another message may be taken. At least once, a message is in flight until it is committed. Unless it waits for a
    /// stage or its key it is exposed: a crash may repeat it. Both have a bound while brokers answer: an unavailable
    /// changelog holds up only its own partitions, and an unavailable group none. After a shard was full, half of the
    /// room must be free again, so that messages are taken in batches.
    ///
    /// Inlined, because a call would copy the whole shard.
    @inline(__always)
    var hasRoom: Bool {
        guard entries.count == 0 || entries.byteCount < settings.maxInFlightBytes else { return false }
        if settings.isTransactional {
            let unanswered = retries.outstanding + changesUnstored + batch.count - batchNext
            return entries.count < entries.capacity && changesUnstored < entries.capacity * 4 + 10_000
                && window.hasRoom(beside: unanswered)
        }
        let uncommitted = checkpoint.isLate(now) ? 0 : doneSinceMarks + doneInMarks
        let inFlight = entries.count + changesUnstored + uncommitted
        let exposed = inFlight - wakeUps.count - order.waiting
        let most = isFull ? (settings.maxExposed + 1) / 2 : settings.maxExposed
        return inFlight < entries.capacity && exposed < most
            || inFlight - lateChanges < entries.capacity && exposed - lateChanges < most
            || PlantedFault.isPlanted(.exposureUnbounded) && entries.count < entries.capacity
    }

    /// The last batch was not small, or long ago, or the transaction is about to end.
    var mayTake: Bool { now >= nextIntake || now >= checkpoint.wakeUp(isDirty: isDirty) }

    mutating func takeMessages() {
        noteHoldUp()
        runBatch()
        guard canRun, ending.isRunning, batchNext == batch.count, mayTake else { return }
        batch.removeAll(keepingCapacity: true)
        batchNext = 0
        if hasRoom { isFull = false }
        // While keys are held, some of a batch may have to wait: it takes at most an eighth of the capacity.
        let most = order.isEmpty ? Self.batchSize : min(Self.batchSize, max(1, entries.capacity / 8))
        while batch.count < most, hasRoom, let message = ports.nextMessage() { take(message) }
        guard !batch.isEmpty else { return }
        if settings.isTransactional, batch.count < Self.batchSize / 4 { nextIntake = now + settings.intakePause }
        // By now the memory of the first messages is in the cache.
        if settings.counts { loadAccounts() }
        for next in batch.indices { prepare(next, isNear: false) }
        for next in 0..<Self.prepareDistance { prepare(next, isNear: true) }
        runBatch()
    }

    private mutating func noteHoldUp() {
        guard canRun else {
            heldUpSince = heldUpSince ?? now
            return
        }
        if let since = heldUpSince.take() { putOffDeadlines(heldUpSince: since) }
    }

    /// Time in which brokers hold messages up does not count against deadlines. Hold-ups of up to a second, such as
    /// most ends of transactions, are ignored.
    mutating func putOffDeadlines(heldUpSince since: Instant) {
        guard since + .seconds(1) < now else { return }
        entries.putOff(since: since, to: now)
    }

    private mutating func take(_ message: Ports.Message) {
        let index = partitions.index(topic: message.topic, partition: message.partition)
        guard index >= 0, partitions[index].state == .running else {
            // The log holds a record that is skipped before a seek: a gap ends there at the latest.
            if index >= 0, let gap = partitions[index].gap, message.offset >= partitions[index].ledger.next {
                partitions[index].gap = min(gap, message.offset)
            }
            return ports.release(message)
        }
        if partitions[index].isUncertain, !PlantedFault.isPlanted(.gapTakenForDone),
            rereadsGap(before: message, index)
        {
            return
        }
        if !enter(message, index) { stall(message, index) }
    }

    /// False if its partition has no room for the message.
    private mutating func enter(_ message: Ports.Message, _ index: Int32) -> Bool {
        // A call would copy the whole shard.
        let isCrowded = partitions[index].waiting > 0 && isCrowded(index, by: 1)
        guard fits(message.offset, index, in: settings.metadataLimit), !isCrowded else { return false }
        switch partitions[index].ledger.take(message.offset) {
        case .taken: break
        case .full: return false
        case .duplicate where PlantedFault.isPlanted(.duplicateTakenForNewLog):
            beginAnew(index, at: message.offset)
            ports.release(message)
            return true
        case .completed, .duplicate:
            // Done before, or delivered twice: a recreated log is reported by `outOfLog`.
            if partitions[index].ledger.isDirty { isDirty = true }
            ports.release(message)
            return true
        }
        let entry = entries.insert(bytes: message.byteCount)
        precondition(entry != 0, "room was asked for")
        entries[entry].offset = message.offset
        entries[entry].timestamp = message.timestamp
        entries[entry].taken = now
        entries[entry].partition = index
        entries[entry].epoch = partitions[index].epoch
        partitions[index].unfinished += 1
        partitions[index].timestamp = message.timestamp
        messages[Int(entry)] = message
        batch.append(entry)
        return true
    }

    private mutating func loadAccounts() {
        for entry in batch { noteAccount(of: entry) }
        for index in partitions.indices where partitions[index].state == .running {
            if partitions[index].counts?.value.load() == false { failDisk(of: index) }
        }
    }

    private mutating func noteAccount(of entry: UInt32) {
        guard let message = messages[Int(entry)], let secret = partitions[entries[entry].partition].counts?.value.secret
        else { return }
        let account = ports.withAccount(of: message) { name in
            entries.setName(name, of: entry)
            return secret.hash(name)
        }
        guard let account else { return }
        entries[entry].hasAccount = true
        entries[entry].account = account
        partitions[entries[entry].partition].counts?.value.want(account)
    }

    /// Checks the first record after an event that may have lost some. True if records are missing before it, for the
    /// first time: the message is released, and the partition is read again from the first missing record.
    private mutating func rereadsGap(before message: Ports.Message, _ index: Int32) -> Bool {
        let next = partitions[index].ledger.next
        guard message.offset > next, partitions[index].gap.map({ message.offset > $0 }) ?? true else {
            if message.offset >= next {
                partitions[index].isUncertain = false
                partitions[index].gap = nil
            }
            return false
        }
        // What is read after the seek is what the log has.
        partitions[index].state = .seeking(next, again: now)
        partitions[index].gap = message.offset
        ports.release(message)
        return true
    }

    /// Whether everything done beyond the position would fit into a transaction's commit if this offset is taken too.
    private func fits(_ offset: Int64, _ index: Int32, in limit: Int) -> Bool {
        !settings.isTransactional || partitions[index].ledger.inFlight == 0
            || PlantedFault.isPlanted(.metadataOverflow)
            || partitions[index].ledger.metadataSizeBound(taking: offset) <= limit
    }

    /// So many of the partition's messages wait behind one that hangs that others would soon have no room: each
    /// partition leaves as much as it takes. Half of its share is always allowed, even if others have taken the rest.
    private func isCrowded(_ index: Int32, by factor: Int) -> Bool {
        let waiting = partitions[index].waiting * factor
        guard waiting > 0 else { return false }
        let room = roomLeft
        return waiting > room && waiting > (entries.count + room) / 2 / partitions.count
            && partitions.indices.contains { $0 != index && partitions[$0].isServed }
    }

    /// For how many more messages of the usual size there is room.
    private var roomLeft: Int {
        let bytesLeft = settings.maxInFlightBytes - entries.byteCount
        return min(entries.capacity - entries.count, bytesLeft / max(1, entries.byteCount / max(1, entries.count)))
    }

    /// Other recipients do not wait because very many messages wait for the hanging stage of one recipient's: if such
    /// messages take up the room of all partitions, or of this one, they leave with last-chance edits, and that stage
    /// is abandoned. If all of a partition is in order, its other messages have to wait anyway.
    mutating func hurryCrowds(of index: Int32? = nil) {
        guard settings.ordering == .key, order.waiting > 0 else { return }
        guard index != nil || order.waiting > max(roomLeft, entries.count / 2) else { return }
        let (late, waiting) = order.hurry(index, least: max(2, entries.capacity / 64), &entries)
        guard let first = late.first else { return }
        for entry in late {
            wakeUps.remove(entry, &entries)
            entries[entry].wakeUp = now
            wakeUps.insert(entry, &entries)
        }
        ports.tell(.recipientsHurried(count: late.count + waiting, first: source(of: first)))
    }

    private mutating func stall(_ message: Ports.Message, _ index: Int32) {
        ports.tell(.windowFull(partitions[index].id, offset: message.offset))
        if !PlantedFault.isPlanted(.pauseForgotten) { stall(index, at: message.offset) }
        hurryCrowds(of: index)
        ports.release(message)
    }

    /// Pauses intake from the partition.
    mutating func stall(_ index: Int32, at offset: Int64) {
        partitions[index].state = .stalled(offset)
        partitions[index].isStopped = true
        ports.stop(partitions[index].id)
    }

    /// Resumes reading once the window has moved and has room to spare.
    mutating func endStall(of index: Int32, at offset: Int64) {
        let ledger = partitions[index].ledger
        guard partitions[index].changes.unstored == 0, !isCrowded(index, by: 2),
            ledger.inFlight == 0
                || fits(offset, index, in: settings.metadataLimit / 4 * 3)
                    && offset - ledger.position < OffsetLedger.spanLimit / 2
        else { return }
        partitions[index].state = .seeking(ledger.next, again: now)
    }

    func prepare(_ next: Int, isNear: Bool) {
        if next < batch.count, let message = messages[Int(batch[next])] { ports.prepare(message, isNear: isNear) }
    }

    /// True if an earlier message of its key has not ended: the entry is queued behind that message.
    mutating func queueBehindKey(_ entry: UInt32) -> Bool {
        guard !order.isEmpty else { return false }
        setKey(of: entry)
        guard order.wait(entry, &entries) else { return false }
        partitions[entries[entry].partition].waiting += 1
        // Otherwise the whole fetched batch would be kept while this message waits.
        if let message = messages[Int(entry)] {
            entries.add(bytes: message.headerByteCount, to: entry)
            messages[Int(entry)] = ports.own(message)
        }
        return true
    }

    /// The key stays 0 if nothing orders the message: it waits for no other message, and none waits for it.
    mutating func setKey(of entry: UInt32) {
        guard entries[entry].key == 0, settings.ordering != .none else { return }
        let salt = UInt64(UInt32(bitPattern: entries[entry].partition)) &+ 1
        if settings.ordering == .partition {
            entries[entry].key = salt
        } else if let message = messages[Int(entry)], let hash = ports.orderHash(message) {
            entries[entry].key = hash | 1 << 63
        }
    }

    mutating func handle(_ step: ChainStep, of entry: UInt32) {
        switch step {
        case .ended(let destination, let operation): finish(entry, destination, operation)
        case .suspended(let wakeUp):
            entries[entry].state = .suspended
            entries[entry].wakeUp = wakeUp
            wakeUps.insert(entry, &entries)
            order.hold(entry, &entries)
        }
    }

    private mutating func finish(_ entry: UInt32, _ destination: Verdict.Destination, _ operation: BadgeOperation?) {
        entries[entry].destination = destination
        if entries[entry].hasAccount, !entries[entry].wasCounted { entries[entry].operation = operation }
        entries[entry].isCounted = destination != .deadLetters
        // At least once, counts change before the output is acknowledged; in a transaction, when it is published.
        guard settings.isTransactional || count(entry) else { return failDisk(of: entries[entry].partition) }
        if destination == .nowhere {
            letGo(of: entry)
            complete(entry)
            return
        }
        publishCurrent(entry)
        if settings.isTransactional, entries[entry].state == .held {
            // Later messages of its key wait until the output is published and counted.
            setKey(of: entry)
            order.hold(entry, &entries)
        } else {
            letGo(of: entry)
        }
    }

    /// Releases the entry's message and its key: the next message of that key may run.
    mutating func letGo(of entry: UInt32) {
        if let message = messages[Int(entry)] {
            messages[Int(entry)] = nil
            ports.release(message)
        }
        guard entries[entry].holdsKey else { return }
        let next = order.release(entry, &entries)
        guard next != 0 else { return }
        partitions[entries[next].partition].waiting -= 1
        unblocked.append(next)
    }

    /// The record is done: it has no output, or its output is acknowledged or, with transactions, published.
    mutating func complete(_ entry: UInt32) {
        if entries[entry].hasPredecessor {
            entries[entry].state = .done
            return
        }
        var entry = entry
        let (account, index) = (entries[entry].account, entries[entry].partition)
        while true {
            let successor = entries[entry].successor
            settle(entry)
            // With transactions, its report may still be pending.
            if entries[entry].isUnanswered { entries[entry].state = .published } else { entries.remove(entry) }
            guard isSuccessor(successor, of: account, index) else { return }
            entries[successor].hasPredecessor = false
            guard entries[successor].state == .done else { return }
            entry = successor
        }
    }

    /// The entry may have been dropped since, and its slot taken by another message.
    private func isSuccessor(_ entry: UInt32, of account: AccountHash, _ index: Int32) -> Bool {
        entries[entry].hasPredecessor && entries[entry].account == account && entries[entry].partition == index
    }
}
