import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import Synchronization

/// What an output's report adds to the metrics.
struct OutputFacts: Sendable {
    var verdict: Verdict?
    /// The output's own timestamp, which librdkafka does not report for an output that comes back.
    var timestamp: Int64 = 0
}

/// The topics that outputs go to, as handles of the current producer.
struct OutputTopics {
    let output: OutputTopic
    let deadLetters: OutputTopic
    let changelog: OutputTopic?

    init(_ settings: EngineSettings, _ producer: OutputProducer) throws(KafkaError) {
        output = try producer.topic(settings.output)
        deadLetters = try producer.topic(settings.deadLetters)
        changelog = try settings.changelog.map { name throws(KafkaError) in try producer.topic(name) }
    }
}

/// An output that waits to be sent.
struct HeldOutput: Sendable {
    let record: OwnedRecord
    let facts: OutputFacts

    var isLetter: Bool { facts.verdict?.destination == .deadLetters }
}

extension OwnedRecord {
    /// The chain's output for a message.
    convenience init(_ delivery: Delivery, headers: consuming Headers, timestamp: Int64) {
        self.init(
            key: delivery.record.key.map(Array.init), value: delivery.output.withValue { $0.map(Array.init) },
            headers: headers, timestamp: timestamp)
    }

    /// A dead letter that only names its message, with a key and a time that no topic refuses.
    convenience init(naming source: Source, headers: consuming Headers) {
        self.init(key: Array("\(source)".utf8), value: nil, headers: headers, timestamp: SystemTime.milliseconds)
    }
}

extension EngineEnvironment {
    /// The dead letter of a message that was let go. `found` is what its log has at its offset.
    func output(for letter: LetterRequest, of found: Record?) -> HeldOutput {
        let (partition, delivery) = (letter.source.partition, Delivery())
        let topic = SourceTopic(partition.topic)
        // In a recreated topic another record has this offset.
        let record = found.flatMap { $0.timestamp == letter.timestamp ? $0 : nil }
        if let record {
            record.fill(delivery.record, topic: topic)
        } else {
            delivery.record.source = Source(topic: topic, partition: partition.partition, offset: letter.source.offset)
            delivery.record.timestamp = letter.timestamp
            if !letter.isNameOnly {
                log.warning(
                    "the record of a refused output is no longer in the log",
                    [.source("\(partition)/\(letter.source.offset)")])
            }
        }
        let verdict = chain.deadLetter(delivery, .publishFailed, message: letter.reason, counted: letter.isCounted)
        var headers = record?.detachHeaders() ?? Headers()
        headers.change(by: delivery.output)
        let owned =
            record == nil
            ? OwnedRecord(naming: delivery.record.source, headers: headers)
            : OwnedRecord(
                delivery, headers: headers,
                timestamp: LetterRequest.timestamp(letter.timestamp, refused: letter.reason))
        return HeldOutput(record: owned, facts: OutputFacts(verdict: verdict, timestamp: owned.timestamp))
    }
}

extension LetterRequest {
    /// The timestamp of a dead letter: the message's own, unless brokers have refused its output for that.
    static func timestamp(_ own: Int64, refused reason: String) -> Int64 {
        reason == KafkaError.invalidTimestamp ? SystemTime.milliseconds : own
    }
}

extension Headers {
    /// If there are more headers than this, removals are made in one pass.
    private static var many: Int { 1000 }

    /// Applies the chain's additions and removals.
    mutating func change(by output: borrowing OutputRecord) {
        if let view, view.count > Self.many {
            var names: Set<[UInt8]> = []
            output.forEachRemovedHeader { names.insert(Array($0)) }
            if !names.isEmpty { removeAll { names.contains(Array($0)) } }
        } else {
            output.forEachRemovedHeader { remove(zeroTerminated: $0) }
        }
        output.forEachAddedHeader { add($0, $1) }
    }
}

extension KafkaPorts {
    private static var entryMask: UInt64 { 0xFFFF_FFFF }

    mutating func publish(tag: UInt64) -> PublishAnswer {
        guard let verdict else { return .later }
        if isNameOnly { return publish(holdCurrent(), tag: tag) }
        var list = takeHeaders()
        // Each reading of the delivery's record retains it.
        let record = current.record
        let timestamp = letterTimestamp ?? record.timestamp
        let topic = verdict.destination == .deadLetters ? topics.deadLetters : topics.output
        let result = producer.publish(
            to: topic, key: record.key, value: current.output.bytes, headers: &list, timestamp: timestamp, tag: tag)
        let answer = answer(result, topic)
        if answer == .queued {
            facts[Int(tag & Self.entryMask)] = note(verdict, record, timestamp)
        } else {
            keptHeaders = consume list
        }
        return answer
    }

    private mutating func note(_ verdict: Verdict, _ record: InputRecord, _ timestamp: Int64) -> OutputFacts {
        let nanoseconds = Int64(clamping: now.nanoseconds(since: turn))
        if let traceparent = record.traceparent {
            counters.messageSeconds.observe(nanoseconds: nanoseconds, trace: TraceID(traceparent: traceparent))
        } else {
            counters.messageSeconds.observe(nanoseconds: nanoseconds)
        }
        return OutputFacts(verdict: verdict, timestamp: timestamp)
    }

    private mutating func answer(_ result: PublishResult, _ topic: OutputTopic) -> PublishAnswer {
        switch result {
        case .queued: return .queued
        case .full: return .later
        case .refused(let error) where error.isTooLarge: return .refused(reason: error.name)
        case .refused(let error):
            // A failed transaction sends nothing more: outputs queued in it must come back before it can be aborted.
            if settings.shard.isTransactional, error.isOfState {
                producer.purge(all: false)
            } else if !turnedAway.contains(where: { $0.topic == topic }) {
                let name = topic == topics.output ? settings.output : settings.deadLetters
                let shown = topic == topics.changelog ? settings.changelog ?? name : name
                turnedAway.append((topic, "the topic \(shown) takes nothing: \(error)"))
                environment.log.warning(
                    "outputs are not accepted for now, waiting", [.topic(shown), .error(error)])
            }
            return .later
        }
    }

    /// The record's headers, moved out of the record if it is still there, with the verdict's changes.
    private mutating func takeHeaders() -> Headers {
        if let kept = keptHeaders.take() { return kept }
        var list = Headers()
        // The record's headers may be why the output was refused: a letter that only names its message omits them.
        if let lent, !isNameOnly {
            list = lent.detachHeaders()
        } else if !isNameOnly {
            for header in current.record.headers { list.add(header.name, header.value) }
        }
        list.change(by: current.output)
        return list
    }

    mutating func holdCurrent() -> HeldOutput {
        let list = takeHeaders()
        let record =
            isNameOnly
            ? OwnedRecord(naming: current.record.source, headers: list)
            : OwnedRecord(current, headers: list, timestamp: letterTimestamp ?? current.record.timestamp)
        let timestamp = record.timestamp
        let facts = verdict.map { note($0, current.record, timestamp) } ?? OutputFacts(timestamp: timestamp)
        return HeldOutput(record: record, facts: facts)
    }

    mutating func publish(_ output: HeldOutput, tag: UInt64) -> PublishAnswer {
        let record = output.record
        var list = record.headers
        let topic = output.isLetter ? topics.deadLetters : topics.output
        let result = record.key.withBytes { key in
            record.value.withBytes { value in
                producer.publish(
                    to: topic, key: key, value: value, headers: &list, timestamp: output.facts.timestamp, tag: tag)
            }
        }
        let answer = answer(result, topic)
        if answer == .queued { facts[Int(tag & Self.entryMask)] = output.facts }
        return answer
    }

    mutating func publishChange(
        partition: Int32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, timestamp: Int64, tag: UInt64
    ) -> PublishAnswer {
        guard let topic = topics.changelog else { return .refused(reason: "there is no changelog") }
        var none = Headers()
        let result = producer.publish(
            to: topic, partition: partition, key: key, value: value, headers: &none, timestamp: timestamp, tag: tag)
        return answer(result, topic)
    }

    mutating func refuseCurrent(reason: String, isCounted: Bool) {
        if verdict?.destination == .deadLetters { isNameOnly = true }
        // The letter has the record's own headers, not those changed for the output: librdkafka parses them once more
        // from the record's bytes.
        if let lent {
            let topic = current.record.source.topic
            current.clear()
            lent.fill(current.record, topic: topic)
        }
        keptHeaders = nil
        letterTimestamp = LetterRequest.timestamp(current.record.timestamp, refused: reason)
        verdict = environment.chain.deadLetter(current, .publishFailed, message: reason, counted: isCounted)
        environment.log.error(
            "the producer refused an output: it becomes a dead letter",
            [.source("\(current.record.source)"), .error(text: reason)])
    }

    mutating func ask(for letter: LetterRequest) {
        let post: @Sendable (Record?) -> Void = { [letters, environment] record in
            letters.post((letter.tag, environment.output(for: letter, of: record)))
        }
        if letter.isNameOnly { post(nil) } else { consumer.readRecord(at: letter.source, post) }
    }

    mutating func takeLetters() -> [(tag: UInt64, output: HeldOutput)] { letters.take() }

    mutating func takeReports(into reports: inout [OutputReport<HeldOutput>]) {
        let wallClock = wallClock
        var (isAnswered, isReturned) = (false, false)
        producer.takeReports { [facts] delivery in
            guard let returned = delivery.returned, let failure = delivery.failure else {
                reports.append(OutputReport(tag: delivery.tag, offset: delivery.offset))
                return
            }
            // A count change belongs to no entry and has no facts.
            let held = EntryTable.change(ofTag: delivery.tag) == nil ? facts[Int(delivery.tag & Self.entryMask)] : nil
            if held?.verdict?.destination == .output {
                if case .refused = failure { isAnswered = true }
                if case .unavailable = failure { isReturned = true }
            }
            reports.append(
                OutputReport(
                    tag: delivery.tag, failure: failure,
                    returned: held.map { HeldOutput(record: returned, facts: $0) }))
        }
        for report in reports where report.failure == nil && EntryTable.change(ofTag: report.tag) == nil {
            let facts = facts[Int(report.tag & Self.entryMask)]
            guard let verdict = facts.verdict else { continue }
            if verdict.destination == .output { isAnswered = true }
            if let reason = verdict.reason { counters.deadLetters[reason.rawValue].add() }
            counters.published[verdict.outcome.rawValue].add()
            guard facts.timestamp > 0 else { continue }
            // The timestamp may be anything, even some thousand years ahead: overflow must not trap.
            counters.endToEndSeconds.observe(nanoseconds: max(0, wallClock &- facts.timestamp) &* 1_000_000)
        }
        if refusal != nil, !settings.shard.isTransactional, reports.contains(where: Self.isStoredChange) {
            refusal = nil
        }
        if !turnedAway.isEmpty { forgetTurnedAway(reports) }
        if isAnswered {
            awaitedUntil = .past
        } else if isReturned || now < awaitedUntil && producer.outstanding > 0 {
            awaitedUntil = now.advanced(nanoseconds: Self.answerPatience)
        }
        let isAny = now >= awaitedUntil && (!reports.isEmpty || producer.outstanding == 0)
        if isAnswered || isAny, !turnedAway.contains(where: { $0.topic == topics.output }) { lastAnswer = now }
    }

    private mutating func forgetTurnedAway(_ reports: [OutputReport<HeldOutput>]) {
        for report in reports where report.failure == nil {
            let isChange = EntryTable.change(ofTag: report.tag) != nil
            let verdict = isChange ? nil : facts[Int(report.tag & Self.entryMask)].verdict
            let output = verdict?.destination == .deadLetters ? topics.deadLetters : topics.output
            let topic = isChange ? topics.changelog : output
            turnedAway.removeAll { $0.topic == topic }
        }
    }

    private static func isStoredChange(_ report: OutputReport<HeldOutput>) -> Bool {
        report.failure == nil && EntryTable.change(ofTag: report.tag) != nil
    }

    /// Something is on its way, or an output came back a moment ago and will be sent again.
    var awaitsAnswer: Bool { producer.outstanding > 0 || now < awaitedUntil }

    mutating func purge(all: Bool) { producer.purge(all: all) }

    var hasProducerFailed: Bool { producer.fatalError != nil }

    mutating func replaceProducer() -> Bool {
        do throws(KafkaError) {
            let another = try OutputProducer(
                settings.producer(of: inbox.shard), signal: inbox.signal, log: environment.kafkaLog)
            topics = try OutputTopics(settings, another)
            producer = another
            return true
        } catch {
            environment.log.error("cannot create another producer, trying again", [.error(error)])
            return false
        }
    }

    mutating func flush() { producer.flush() }

    mutating func transact(_ step: TransactionStep) -> TransactionResult {
        var patience = Self.stepPatience
        if step == .begin { transactionSince = nil }
        if case .addOffsets(let positions) = step {
            transactionSince = transactionSince ?? now
            if positions.isEmpty { return .done }
            patience = 5000
        }
        let result = producer.transact(step, by: consumer, milliseconds: patience)
        tick()
        // Until transactions are initialized, readiness has a reason of its own.
        if case .retry = result, step != .initialize { stuckSince = stuckSince ?? now } else { stuckSince = nil }
        if step == .commit, result == .done {
            refusal = nil
            environment.metrics.transactionsCommitted.add()
            if let since = transactionSince.take() { observeCheckpoint(since) }
        }
        return result
    }
}
