import PushmillKafka
import PushmillStages

/// Outputs: published, answered, sent again.
extension Shard where Ports: ~Copyable {
    /// Publishes what has become of the entry's message, or holds it.
    mutating func publishCurrent(_ entry: UInt32) {
        if let reason = convictionOf(entry) { refuseCurrent(entry, reason) }
        let isLetter = entries[entry].destination == .deadLetters
        let isSuspect = !suspects.isEmpty && suspects.contains(source(of: entry))
        let isFree = (isLetter ? letters.isIdle : outputs.isIdle) && checkpoint.takesOutputs && mayPublish
        guard isFree, !isSuspect, !isLetter || now >= lettersFrom else {
            return hold(entry, isSuspect: isSuspect)
        }
        switch ports.publish(tag: entries.tag(of: entry)) {
        case .queued: published(entry)
        case .later: hold(entry, isSuspect: false)
        case .refused(let reason):
            refuseCurrent(entry, reason)
            hold(entry, isSuspect: false)
        }
    }

    private mutating func published(_ entry: UInt32) {
        sequence &+= 1
        entries[entry].sequence = sequence
        entries[entry].state = .published
        entries[entry].isUnanswered = true
        if entries[entry].destination == .deadLetters { letters.published() } else { outputs.published() }
        if PlantedFault.isPlanted(.commitBeforeAcknowledgement) {
            _ = partitions[entries[entry].partition].ledger.complete(entries[entry].offset)
            isDirty = true
        }
        if settings.isTransactional { completeInTransaction(entry) }
    }

    /// It comes to pass, or to nothing, with the whole transaction.
    private mutating func completeInTransaction(_ entry: UInt32) {
        let index = entries[entry].partition
        if !partitions[index].isInTransaction { partitions[index].transactionStart = entries[entry].timestamp }
        guard count(entry) else {
            checkpoint.failTransaction()
            return failDisk(of: index)
        }
        complete(entry)
    }

    private mutating func hold(_ entry: UInt32, isSuspect: Bool) {
        entries[entry].state = .held
        sequence &+= 1
        let (output, tag) = (ports.holdCurrent(), entries.tag(of: entry))
        if entries[entry].destination == .deadLetters {
            letters.hold(output, tag: tag, sequence: sequence, isSuspect: isSuspect, now: now)
        } else {
            outputs.hold(output, tag: tag, sequence: sequence, isSuspect: isSuspect, now: now)
        }
    }

    private func source(of entry: UInt32) -> Position {
        Position(partitions[entries[entry].partition].place, offset: entries[entry].offset)
    }

    // MARK: Reports

    /// What an acknowledgement is about to change begins to come from memory.
    func prefetch(_ report: OutputReport<Ports.Output>) {
        guard settings.counts, let entry = entries.index(ofTag: report.tag), entries[entry].hasChange else { return }
        partitions[entries[entry].partition].counts?.prefetch(entries[entry].account)
    }

    mutating func handle(_ report: OutputReport<Ports.Output>) {
        if let change = EntryTable.change(ofTag: report.tag) {
            return handleChange(report, of: change.checkpoint, change.partition, assignment: change.epoch)
        }
        guard let entry = entries.index(ofTag: report.tag), entries[entry].isUnanswered else { return }
        entries[entry].isUnanswered = false
        let isLetter = entries[entry].destination == .deadLetters
        let index = entries[entry].partition
        // Where an earlier one of its key was given up, one that comes back would overtake it.
        let isVoid =
            entries[entry].epoch != partitions[index].epoch
            || report.failure != nil && partitions[index].isGivenUp
        let sequence = entries[entry].sequence
        // What is void, or part of a transaction that fails, is not sent again.
        let returned = isVoid || settings.isTransactional ? nil : report.returned
        let answer =
            isLetter
            ? letters.answered(report.tag, report.failure, returned, sequence: sequence)
            : outputs.answered(report.tag, report.failure, returned, sequence: sequence)
        switch answer {
        case .done: acknowledged(entry, isVoid: isVoid)
        case .again, .guilty:
            if isVoid { remove(entry) } else { failed(entry, report, isGuilty: answer == .guilty) }
        }
    }

    private mutating func acknowledged(_ entry: UInt32, isVoid: Bool) {
        if isVoid { return remove(entry) }
        if !settings.isTransactional { return complete(entry) }
        // Done since it was published, but where it waits for an earlier one of its account.
        if entries[entry].state == .published { remove(entry) }
    }

    private mutating func failed(_ entry: UInt32, _ report: OutputReport<Ports.Output>, isGuilty: Bool) {
        guard let failure = report.failure else { return }
        if settings.isTransactional { return failTransaction(entry, failure, isGuilty: isGuilty) }
        switch failure {
        case .refused(let reason) where isGuilty:
            let place = partitions[entries[entry].partition].place
            ports.tell(.outputRefused(place, offset: entries[entry].offset, reason: reason))
            askLetter(entry, reason)
        case .refused(let reason), .unavailable(let reason):
            ports.tell(.outputsReturned(reason: reason))
            entries[entry].state = .held
        case .purged: entries[entry].state = .held
        }
        ports.purge(all: false)
    }

    private mutating func askLetter(_ entry: UInt32, _ reason: String) {
        entries[entry].state = .held
        // A dead letter that is refused only names its message from then on.
        if entries[entry].destination == .deadLetters { entries[entry].isNameOnly = true }
        entries[entry].destination = .deadLetters
        ports.askLetter(
            of: source(of: entry), timestamp: entries[entry].timestamp, tag: entries.tag(of: entry), reason: reason,
            isNameOnly: entries[entry].isNameOnly)
    }

    /// The dead letter that was asked for is there.
    mutating func handleLetter(tag: UInt64) {
        guard let output = ports.takeLetter(tag: tag), let entry = entries.index(ofTag: tag),
            entries[entry].state == .held
        else { return }
        sequence &+= 1
        letters.hold(output, tag: tag, sequence: sequence, now: now)
    }

    private mutating func failTransaction(
        _ entry: UInt32, _ failure: OutputReport<Ports.Output>.Failure, isGuilty: Bool
    ) {
        switch failure {
        case .refused(let reason):
            let source = source(of: entry)
            if isGuilty {
                ports.tell(.outputRefused(source.partition, offset: source.offset, reason: reason))
                suspects.remove(source)
                convicts[source] = reason
            } else {
                suspects.insert(source)
            }
            checkpoint.failTransaction()
        case .unavailable(let reason):
            ports.tell(.outputsReturned(reason: reason))
            // The next transactions do without dead letters for a while.
            if entries[entry].destination == .deadLetters { lettersFrom = now + .seconds(5) }
            checkpoint.failTransaction()
        case .purged: checkpoint.failTransaction()
        }
        entries[entry].state = .published
    }

    private func convictionOf(_ entry: UInt32) -> String? {
        convicts.isEmpty ? nil : convicts[source(of: entry)]
    }

    private mutating func refuseCurrent(_ entry: UInt32, _ reason: String) {
        _ = ports.refuseCurrent(reason: reason)
        entries[entry].destination = .deadLetters
    }

    // MARK: Sending again

    /// What came back is sent again as soon as all that was sent is answered.
    mutating func collectReturned() {
        guard !isReplacingProducer else { return }
        if outputs.state == .collecting { outputs.collected(now: now) }
        if letters.state == .collecting { letters.collected(now: now) }
    }

    /// What is held goes, as far as it is taken.
    mutating func sendHeld() {
        guard mayPublish, checkpoint.takesOutputs else { return }
        let wasIdle = outputs.isIdle
        sendHeld(isLetter: false)
        if now >= lettersFrom { sendHeld(isLetter: true) }
        if !wasIdle, outputs.isIdle { ports.tell(.outputsGoOn) }
    }

    private mutating func sendHeld(isLetter: Bool) {
        var hasSent = false
        // What is sent again alone would wait for a batch each time.
        defer { if hasSent { ports.flush() } }
        while let held = isLetter ? letters.next(now: now) : outputs.next(now: now) {
            guard let entry = entries.index(ofTag: held.tag) else {
                if isLetter { letters.taken() } else { outputs.taken() }
                continue
            }
            switch ports.publish(held.output, tag: held.tag) {
            case .queued:
                sent(entry, isLetter: isLetter)
                hasSent = true
            case .later:
                let time = now + .milliseconds(5)
                if isLetter { letters.stays(until: time) } else { outputs.stays(until: time) }
                return
            case .refused where entries[entry].isNameOnly:
                letters.stays(until: now + .seconds(10))
                return
            case .refused(let reason):
                if isLetter { letters.taken() } else { outputs.taken() }
                askLetter(entry, reason)
            }
        }
    }

    private mutating func sent(_ entry: UInt32, isLetter: Bool) {
        if isLetter { letters.sent() } else { outputs.sent() }
        // It keeps its place in the order, whatever is sent again before it.
        entries[entry].state = .published
        entries[entry].isUnanswered = true
        sequence &+= 1
        entries[entry].sequence = sequence
        guard settings.isTransactional else { return }
        completeInTransaction(entry)
        letGo(of: entry)
    }

    // MARK: Producers

    /// A producer that has failed for good is replaced when everything that was published by it is answered.
    mutating func replaceProducerIfFailed() {
        if !isReplacingProducer, ports.hasProducerFailed {
            isReplacingProducer = true
            nextReplacement = now
            ports.purge(all: false)
            ports.tell(.producerReplaced(reason: "the producer has failed"))
            perform(checkpoint.producerFailed(now: now))
        }
    }

    var unanswered: Int { outputs.outstanding + letters.outstanding }

    /// Called for `Checkpoint.Action.replaceProducer`, and while a producer has failed without transactions.
    mutating func replaceProducer() {
        guard isReplacingProducer, now >= nextReplacement else { return }
        guard unanswered == 0, changesUnanswered == 0 else {
            // Requests that are on their way are answered within the brokers' time-out, or given up.
            ports.purge(all: settings.isTransactional)
            nextReplacement = now + .milliseconds(20)
            return
        }
        let works = ports.replaceProducer()
        checkpoint.replaced(works, now: now)
        guard works else {
            nextReplacement = now + .milliseconds(500)
            return
        }
        isReplacingProducer = false
        if settings.isTransactional { restoreAll() }
    }
}
