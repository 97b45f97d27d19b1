import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry

/// Runs messages through the chain. One that has ended stays in `current` until the next begins or ends.
extension KafkaPorts {
    /// Of the messages of one turn, the stages of one in this many are measured.
    private static var measuredShare: Int { 16 }

    /// Adds what the shard's thread has tallied to the counters that a scrape reads.
    mutating func countOkayMessages() {
        guard okayMessages > 0 else { return }
        for stage in counters.stages.indices { counters.stages[stage].count("ok", by: okayMessages) }
        okayMessages = 0
    }

    mutating func orderHash(_ message: Record) -> UInt64? {
        guard let bytes = message.recipient, !bytes.isEmpty else { return nil }
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return UInt64(truncatingIfNeeded: UInt(bitPattern: hasher.finalize()))
    }

    mutating func withAccount<Result>(of message: Record, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        let headers = message.headers
        guard let recipient = message.recipient(headers) else { return nil }
        let app = headers?.last("apns-topic")
        guard Chain.isAccount(recipient, app) else { return nil }
        let known = app ?? UnsafeRawBufferPointer(start: nil, count: 0)
        // Its room is kept as it is: clearing an array takes as long as this.
        let count = ChangelogRecord.keyCount(recipient, known)
        if accountKey.count < count { accountKey = Array(repeating: 0, count: count) }
        return accountKey.withUnsafeMutableBytes { key in
            if let start = key.baseAddress { _ = ChangelogRecord.writeKey(recipient, known, to: start) }
            return body(UnsafeRawBufferPointer(rebasing: key[..<count]))
        }
    }

    func prepare(_ message: Record, isNear: Bool) {
        environment.chain.prepare(recipient: { message.recipient }, key: message.key, isNear: isNear)
    }

    mutating func begin(_ turns: [MessageTurn<Record>], now: Instant) {
        group.removeAll()
        for each in turns {
            group.add(
                to: environment.chain, taken: each.taken, now: now, wallClock: wallClock, count: each.count,
                isCounted: each.isCounted
            ) { delivery in
                delivery.tag = Int(each.entry)
                delivery.isMeasured = begun % Self.measuredShare == 0
                begun += 1
                delivery.withRecord { each.message.fill($0, topic: sources[Int(each.message.topic)]) }
            }
        }
        environment.chain.run(&group, now: now)
    }

    mutating func takeStep(_ index: Int, of message: MessageTurn<Record>, now: Instant) -> ChainStep {
        forgetCurrent()
        let entry = Int(message.entry)
        guard let step = group.take(index, inExchangeFor: &current) else { preconditionFailure("a step is taken once") }
        turn = now
        lent = message.message
        if case .suspended = step {
            // The chain has copied the message's bytes.
            lent = nil
            suspended[entry] = current
            turns[entry] = now
            current = spare.popLast() ?? Delivery()
        }
        return take(step)
    }

    func byteCount(ofSuspended entry: Int) -> Int {
        guard let delivery = suspended[entry] else { return 0 }
        return delivery.documentByteCount + delivery.record.headerByteCount
    }

    mutating func resume(entry: Int, now: Instant) -> ChainStep? {
        guard let delivery = suspended[entry], let step = environment.chain.resume(delivery, now: now) else {
            return nil
        }
        return take(step, of: delivery, entry)
    }

    mutating func wakeUp(entry: Int, now: Instant, isLate: Bool) -> ChainStep {
        guard let delivery = suspended[entry] else { return .suspended(until: .never) }
        return take(environment.chain.wakeUp(delivery, now: now, isLate: isLate), of: delivery, entry)
    }

    mutating func abandon(entry: Int) {
        guard let delivery = suspended[entry] else { return }
        suspended[entry] = nil
        environment.chain.abandon(delivery)
        recycle(delivery)
    }

    /// Keeps the delivery for another message, unless it is large: nothing counts the memory that it keeps.
    private mutating func recycle(_ delivery: Delivery) { if !delivery.isLarge { spare.append(delivery) } }

    private mutating func take(_ step: Chain.Step, of delivery: Delivery, _ entry: Int) -> ChainStep {
        if case .ended = step {
            forgetCurrent()
            recycle(current)
            current = delivery
            turn = turns[entry]
            suspended[entry] = nil
        }
        return take(step, hasWaited: true)
    }

    private mutating func take(_ step: Chain.Step, hasWaited: Bool = false) -> ChainStep {
        switch step {
        case .ended(let verdict):
            self.verdict = verdict
            if verdict.destination == .nowhere { counters.dropped.add() }
            countStages(hasWaited: hasWaited)
            return .ended(verdict.destination, current.badgeOperation)
        case .notDue(let until): return .suspended(until: until)
        case .suspended(let until, let work):
            pool.start(work)
            return .suspended(until: until)
        }
    }

    private mutating func forgetCurrent() {
        verdict = nil
        lent = nil
        keptHeaders = nil
        isNameOnly = false
        letterTimestamp = nil
    }

    /// A stage that has waited was measured even if the message is not sampled.
    private mutating func countStages(hasWaited: Bool) {
        guard current.isMeasured || hasWaited || !current.isAllOkay else { return okayMessages += 1 }
        for stage in counters.stages.indices where stage < current.results.count {
            switch current.results[stage] {
            case .ok: counters.stages[stage].count("ok")
            case .skipped: counters.stages[stage].count("skipped")
            case .expired: counters.stages[stage].count("expired")
            case .failed(let reason): counters.stages[stage].count("failed", reason: reason)
            case .word(let word): counters.stages[stage].count(word)
            }
            if current.times[stage] > 0 {
                counters.stages[stage].seconds.observe(nanoseconds: Int64(clamping: current.times[stage]))
            }
        }
    }
}
