import PushmillKafka
import PushmillStages

/// Outputs: published, answered, sent again.
extension Shard where Ports: ~Copyable {
    /// How long to wait before retrying a dead letter that was refused although it only names its message.
    static var letterPause: Duration { .seconds(10) }

    /// Publishes the entry's current output, or holds it.
    mutating func publishCurrent(_ entry: UInt32) {
        if !poisonRecords.isEmpty, let poison = poisonRecords[refusedRecord(entry)] {
            if poison.isLetter, entries[entry].destination != .deadLetters { refuseCurrent(entry, poison.reason) }
            refuseCurrent(entry, poison.reason)
        }
        let isLetter = entries[entry].destination == .deadLetters
        let isSuspect = !suspects.isEmpty && suspects.contains(refusedRecord(entry))
        let isFree = retries.isIdle(isLetter) && checkpoint.takesOutputs && mayPublish
        guard isFree, !isSuspect, !isLetter || now >= lettersPausedUntil else {
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
        hasUnsent = true
        awaitReport(of: entry)
        retries.published(entries[entry].destination == .deadLetters)
        if PlantedFault.isPlanted(.commitBeforeAcknowledgement) {
            _ = partitions[entries[entry].partition].ledger.complete(entries[entry].offset)
            isDirty = true
        }
        if settings.isTransactional { completeInTransaction(entry) }
    }

    /// An output that is sent again gets a new sequence number: it keeps its place in the order of sending.
    private mutating func awaitReport(of entry: UInt32) {
        sequence &+= 1
        entries[entry].sequence = sequence
        entries[entry].state = .published
        entries[entry].isUnanswered = true
    }

    private mutating func hold(_ entry: UInt32, isSuspect: Bool) {
        entries[entry].state = .held
        entries[entry].wakeUp = now
        retries[entries[entry].destination == .deadLetters].hold(
            ports.holdCurrent(), tag: entries.tag(of: entry), isSuspect: isSuspect, now: now)
    }

    /// The entry's record, as `suspects` and `poisonRecords` keep it.
    func refusedRecord(_ entry: UInt32) -> RefusedRecord {
        RefusedRecord(position: source(of: entry), timestamp: entries[entry].timestamp)
    }

    func source(of entry: UInt32) -> Position {
        Position(partitions[entries[entry].partition].id, offset: entries[entry].offset)
    }

    /// Starts to load the memory that an acknowledgment is about to change.
    mutating func prefetch(_ report: OutputReport<Ports.Output>) {
        guard settings.counts else { return }
        if let change = EntryTable.change(ofTag: report.tag) {
            guard change.partition < partitions.count,
                let account = partitions[change.partition].changes[change.sequence]?.account
            else { return }
            partitions[change.partition].counts?.value.prefetch(account)
            return
        }
        guard let entry = entries.index(ofTag: report.tag), entries[entry].hasChange else { return }
        partitions[entries[entry].partition].counts?.value.prefetch(entries[entry].account)
    }

    mutating func handle(_ report: OutputReport<Ports.Output>) {
        if let change = EntryTable.change(ofTag: report.tag) {
            return handleChange(report, change.sequence, of: change.partition)
        }
        guard let entry = entries.index(ofTag: report.tag), entries[entry].isUnanswered else { return }
        entries[entry].isUnanswered = false
        if report.failure == nil, !settings.isTransactional { replacements.producerWorked() }
        let index = entries[entry].partition
        // If earlier outputs of its key may have been given up, an output that comes back is void: it would overtake
        // them. With transactions it fails the transaction that holds its offset.
        let isVoid =
            entries[entry].epoch != partitions[index].epoch
            || report.failure != nil && partitions[index].isGivenUp && !settings.isTransactional
        let sequence = entries[entry].sequence
        // An output that is void, or part of a failing transaction, is not sent again.
        let returned = isVoid || settings.isTransactional ? nil : report.returned
        let failure = report.failure.map { judge($0) }
        let answer = retries[entries[entry].destination == .deadLetters].answered(
            report.tag, failure, returned, sequence: sequence)
        if answer == .poison { brokerFaults = nil }
        if isVoid {
            // A drain must not wait for this entry.
            if entries[entry].epoch == partitions[index].epoch { partitions[index].unfinished -= 1 }
            entries.remove(entry)
        } else if let failure {
            failed(entry, failure, isPoison: answer == .poison)
        } else {
            acknowledged(entry)
        }
    }

    /// A fault of the brokers themselves says nothing about a record: for a minute it counts as an outage. After that a
    /// record may be why, and one becomes a dead letter before the next minute begins.
    private mutating func judge(_ failure: OutputReport<Ports.Output>.Failure) -> OutputReport<Ports.Output>.Failure {
        guard case .refused(let reason) = failure, reason == KafkaError.unknown else { return failure }
        let since = brokerFaults.map { now < $0.last + .seconds(10) ? $0.since : now } ?? now
        brokerFaults = (since, now)
        return now < since + .seconds(60) ? .unavailable(reason: reason) : failure
    }

    private mutating func acknowledged(_ entry: UInt32) {
        if !settings.isTransactional { return complete(entry) }
        // Done as soon as it was published, unless it waits for an earlier entry of its account.
        if entries[entry].state == .published { entries.remove(entry) }
    }

    private mutating func failed(
        _ entry: UInt32, _ failure: OutputReport<Ports.Output>.Failure, isPoison: Bool
    ) {
        if settings.isTransactional { return failTransaction(entry, failure, isPoison: isPoison) }
        switch failure {
        case .refused(let reason) where isPoison: askLetter(entry, reason)
        case .refused(let reason), .unavailable(let reason):
            ports.tell(.outputsReturned(reason: reason))
            entries[entry].state = .held
        case .purged: entries[entry].state = .held
        }
        mustPurge = true
    }

    private mutating func askLetter(_ entry: UInt32, _ reason: String) {
        let source = source(of: entry)
        ports.tell(.outputRefused(source.partition, offset: source.offset, reason: reason))
        entries[entry].state = .held
        if entries[entry].isNameOnly { lettersPausedUntil = now + Self.letterPause }
        // Once a dead letter has been refused, the next one only names its message.
        if entries[entry].destination == .deadLetters { entries[entry].isNameOnly = true }
        entries[entry].destination = .deadLetters
        ports.ask(
            for: LetterRequest(
                source: source, timestamp: entries[entry].timestamp, tag: entries.tag(of: entry),
                reason: reason, isNameOnly: entries[entry].isNameOnly, isCounted: entries[entry].isCounted))
    }

    private mutating func refuseCurrent(_ entry: UInt32, _ reason: String) {
        ports.refuseCurrent(reason: reason, isCounted: entries[entry].isCounted)
        entries[entry].destination = .deadLetters
    }

    /// Outputs that came back are sent again once everything that was sent is answered.
    mutating func collectReturned() {
        guard !isReplacingProducer else { return }
        retries.outputs.collected(now: now)
        retries.letters.collected(now: now)
    }

    /// Sends held outputs while the producer accepts them.
    mutating func sendHeld() {
        guard mayPublish, checkpoint.takesOutputs else { return }
        if !retries.outputs.isIdle { areOutputsHeld = true }
        sendHeld(isLetter: false)
        if now >= lettersPausedUntil { sendHeld(isLetter: true) }
        guard areOutputsHeld, retries.outputs.isIdle else { return }
        areOutputsHeld = false
        ports.tell(.outputsGoOn)
    }

    private mutating func sendHeld(isLetter: Bool) {
        var hasSent = false
        // Without a flush, each output that is sent alone would wait for its batch to fill.
        defer { if hasSent { ports.flush() } }
        while let held = retries[isLetter].next(now: now) {
            guard let entry = entries.index(ofTag: held.tag), entries[entry].state == .held else {
                retries[isLetter].skipped()
                continue
            }
            switch ports.publish(held.output, tag: held.tag) {
            case .queued:
                sent(entry, isLetter: isLetter)
                hasSent = true
            case .later:
                return retries[isLetter].stays(until: now + .milliseconds(5))
            case .refused where entries[entry].isNameOnly:
                return retries.letters.stays(until: now + Self.letterPause)
            case .refused(let reason):
                retries[isLetter].skipped()
                askLetter(entry, reason)
            }
        }
    }

    private mutating func sent(_ entry: UInt32, isLetter: Bool) {
        retries[isLetter].sent()
        awaitReport(of: entry)
        guard settings.isTransactional else { return }
        // While an ordinary output is held, no message runs at all.
        if isLetter { order.putOff(behind: entry, since: entries[entry].wakeUp, to: now, &entries) }
        completeInTransaction(entry)
        letGo(of: entry)
    }
}
