import Glibc
import Kafka
import Push
import Telemetry

/// Carries out verdicts for one thread. A class, because what all threads share is then reached through it without
/// counting references, over which they would get into each other's way.
final class Publisher {
    let outputs: Outputs
    let flow: Flow
    /// Makes the dead letters of what is refused.
    let chain: Chain
    @exclusivity(unchecked) private var metrics: MetricsShard
    let log: Log
    /// It publishes what came back, for which the others wait.
    let isResending: Bool
    let door: Door?
    /// Waits for the next transaction, or until librdkafka takes it.
    let held: HeldOutputs
    /// As of the last look for what is held and late.
    @exclusivity(unchecked) var heldClosings = 0
    /// Counted since the last `settle`.
    @exclusivity(unchecked) private var published = 0
    /// Done without an output.
    @exclusivity(unchecked) private var settled: [InFlightTable.Ticket] = []
    /// Given up, because their partition is no longer ours.
    @exclusivity(unchecked) private var abandoned: [InFlightTable.Ticket] = []
    @exclusivity(unchecked) private var openSlots = OpenSlots()

    init(
        outputs: Outputs, flow: Flow, chain: Chain, metrics: MetricsShard, held: HeldOutputs = HeldOutputs(), log: Log,
        isResending: Bool = false
    ) {
        self.outputs = outputs
        self.flow = flow
        self.chain = chain
        self.metrics = metrics
        self.held = held
        self.log = log
        self.isResending = isResending
        door = outputs.transactions?.gate.makeDoor()
    }

    var transactions: OutputTransactions? { outputs.transactions }

    /// What becomes of a message of a slot that is fenced does not count: another will do it again.
    func isLate(_ slot: PartitionSlot) -> Bool {
        if openSlots.contains(slot, closings: flow.closings) { return false }
        openSlots = flow.openSlots
        return !openSlots.contains(slot)
    }

    func publish(_ verdict: Verdict, of carrier: Carrier, _ now: Instant) {
        guard let item = carrier.item else { return }
        if let change = carrier.change { flow.note(change, of: item.ticket) }
        if isLate(item.slot) { return abandon(item.ticket) }
        metrics.messageSeconds.observe(
            nanoseconds: Int64(clamping: now.nanoseconds(since: carrier.turn)),
            trace: carrier.delivery.record.traceparent.flatMap { TraceID(traceparent: $0) })
        countStages(of: carrier.delivery)
        if verdict.destination == .nowhere {
            settled.append(item.ticket)
        } else if let transactions {
            publish(verdict, of: carrier, item, in: transactions)
        } else {
            publish(verdict, carrier.delivery, headers: carrier.takeHeaders(), item.ticket, item.slot)
        }
    }

    func publish(
        _ verdict: Verdict, _ delivery: Delivery, headers: consuming Headers, _ ticket: InFlightTable.Ticket,
        _ slot: PartitionSlot
    ) {
        var headers = headers
        delivery.output.forEachRemovedHeader { headers.remove(zeroTerminated: $0) }
        delivery.output.forEachAddedHeader { headers.add($0, $1) }
        let topic = verdict.destination == .deadLetters ? outputs.deadLetters : outputs.output
        let tag = DeliveryTag(ticket, verdict)
        let (key, timestamp) = (delivery.record.key, delivery.record.timestamp)
        outputs.times[ticket] = timestamp
        let error = delivery.output.withValue { value in
            enter(topic, key, value, &headers, timestamp, tag, slot, delivery.record.source.position)
        }
        guard let error else { return }
        logTooLarge(delivery, error)
        let isLetter = verdict.destination == .deadLetters
        let letter =
            isLetter ? verdict : chain.deadLetter(delivery, .publishFailed, message: error.name, counted: true)
        publishName(of: delivery, DeliveryTag(ticket, letter), slot)
    }

    /// librdkafka itself refuses what is larger than `message.max.bytes`: where it stands is all that can be told.
    func logTooLarge(_ delivery: Delivery, _ error: KafkaError) {
        log.error(
            "a record is too large to be published: its dead letter names it and has no value",
            [.source("\(delivery.record.source)"), .error(error)])
    }

    func names(of delivery: Delivery) -> Headers {
        var names = Headers()
        delivery.output.forEachAddedHeader { names.add($0, $1) }
        return names
    }

    func publishName(of delivery: Delivery, _ tag: DeliveryTag, _ slot: PartitionSlot) {
        var names = names(of: delivery)
        let (letters, timestamp) = (outputs.deadLetters, delivery.record.timestamp)
        if let error = enter(letters, nil, nil, &names, timestamp, tag, slot, delivery.record.source.position) {
            log.error("a dead letter cannot be published: its record stays unfinished", [.error(error)])
        }
    }

    private func countStages(of delivery: Delivery) {
        for stage in metrics.stages.indices where stage < delivery.results.count {
            metrics.stages[stage].count(delivery.results[stage])
            if delivery.times[stage] > 0 {
                metrics.stages[stage].seconds.observe(nanoseconds: Int64(clamping: delivery.times[stage]))
            }
        }
    }

    /// Waits while librdkafka's queue is full: that is back-pressure, and the intake feels it next.
    func send(
        to topic: ProducerTopic, _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?,
        _ headers: inout Headers, _ timestamp: Int64, _ tag: DeliveryTag
    ) -> KafkaError? {
        while true {
            switch outputs.producer.publish(
                to: topic, key: key, value: value, headers: &headers, timestamp: timestamp, opaque: tag.rawValue)
            {
            case .queued:
                published += 1
                return nil
            case .refused(let error): return error
            case .full: usleep(1000)
            }
        }
    }

    func abandon(_ ticket: InFlightTable.Ticket) { abandoned.append(ticket) }

    /// Tells the others what was done since the last time; once for each batch. True when the intake waits for the room
    /// that there is now.
    func settle() -> Bool {
        if published > 0 { outputs.published(published) }
        if !abandoned.isEmpty { flow.abandon(abandoned) }
        let isRelieved = !settled.isEmpty && flow.complete(settled)
        published = 0
        abandoned.removeAll(keepingCapacity: true)
        settled.removeAll(keepingCapacity: true)
        return isRelieved
    }
}

extension StageMetricsShard {
    fileprivate mutating func count(_ result: StageResult) {
        switch result {
        case .ok: count("ok")
        case .skipped: count("skipped")
        case .expired: count("expired")
        case .failed(let reason): count("failed", reason: reason)
        case .word(let word): count(word)
        }
    }
}
