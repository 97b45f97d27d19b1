package import PushmillEngine
import PushmillPayload
package import PushmillStages

/// An entry whose stage runs on the pool.
struct Suspension {
    let number: UInt64
    let output: SimulatedOutput
    let result: ChainStep
    let deadline: UInt64
    /// The stage has ended.
    var isThere = false
}

extension SimulatedPorts {
    package func begin(_ turns: [MessageTurn<SimulatedMessage>], now: Instant) {}

    /// The message runs only now: that shows whether one of the group had to come before it.
    package func takeStep(_ index: Int, of message: MessageTurn<SimulatedMessage>, now: Instant) -> ChainStep {
        begin(
            message.message, entry: Int(message.entry), taken: message.taken, now: now, count: message.count,
            isCounted: message.isCounted)
    }

    private func begin(
        _ message: SimulatedMessage, entry: Int, taken: Instant?, now: Instant, count: Int32?, isCounted: Bool
    ) -> ChainStep {
        elapsed += 2_000
        let event = events[Int(message.event)]
        timeline.note(number, .begin, Int64(message.event), Int64(message.partition), message.offset)
        witness.begun(message.event, by: self)
        checkOrder(of: message)
        var output = SimulatedOutput(
            value: OutputValue(
                event: message.event, recipient: event.recipient, topic: Int(message.topic),
                partition: message.partition, offset: message.offset),
            letterRefuser: event.letterRefuser)
        if let operation = event.operation, event.isCounted {
            if count == nil { witness.broken("event \(message.event) began without its count", by: self) }
            output.value.badge = isCounted ? count ?? 0 : operation.applied(to: count ?? 0)
        }
        switch event.behaviour {
        case .dropped:
            witness.dropped(message.event)
            return .ended(.nowhere)
        case .deadLetter:
            output.value.isLetter = true
            current = output
            return .ended(.deadLetters)
        case .refusedByBrokers: output.outputRefuser = .brokers
        case .refusedByClient: output.outputRefuser = .client
        case .immediate, .suspended, .late: break
        }
        let result = ChainStep.ended(.output, event.isCounted ? event.operation : nil)
        guard event.behaviour == .suspended || event.behaviour == .late else {
            current = output
            return result
        }
        guard let taken else {
            current = output
            return result
        }
        let latestTurn = taken + switches.deadline
        let deadline = now < latestTurn ? now + switches.deadline : latestTurn
        return suspend(entry, output, result, after: event.delay, deadline: deadline)
    }

    /// Checks that no message begins before an earlier one of its key, or of its partition, has ended.
    private func checkOrder(of message: SimulatedMessage) {
        guard !Self.forgetsEnds else { return }
        for entry in suspended {
            guard let earlier = suspensions[entry]?.output.value else { continue }
            let isHeldUp =
                switch settings.ordering {
                case .none: false
                case .key: earlier.recipient == events[Int(message.event)].recipient
                case .partition: earlier.partition == message.partition && earlier.topic == Int(message.topic)
                }
            guard isHeldUp else { continue }
            witness.broken("event \(message.event) begins and event \(earlier.event) before it has not ended", by: self)
        }
    }

    private func suspend(
        _ entry: Int, _ output: SimulatedOutput, _ result: ChainStep, after delay: UInt64, deadline: Instant
    ) -> ChainStep {
        guard suspensions.indices.contains(entry), suspensions[entry] == nil || Self.forgetsEnds else {
            witness.broken("entry \(entry) began twice", by: self)
            return .ended(.nowhere)
        }
        suspensionNumber += 1
        let number = suspensionNumber
        suspensions[entry] = Suspension(
            number: number, output: output, result: result, deadline: deadline.nanoseconds)
        suspended.insert(entry)
        if delay != .max {
            node.after(delay) { [weak self] in self?.stageEnded(entry, number) }
        }
        return .suspended(until: deadline)
    }

    /// Reported even if the entry is in use for another message: `resume` finds out.
    private func stageEnded(_ entry: Int, _ number: UInt64) {
        if suspensions[entry]?.number == number { suspensions[entry]?.isThere = true }
        stageResults.append(entry)
        hasNews()
    }

    package func takeStageResults(into entries: inout [Int]) {
        entries.append(contentsOf: stageResults)
        stageResults.removeAll(keepingCapacity: true)
    }

    package func resume(entry: Int, now: Instant) -> ChainStep? {
        guard suspensions.indices.contains(entry), let suspension = suspensions[entry], suspension.isThere else {
            return nil
        }
        return end(entry, suspension)
    }

    package func wakeUp(entry: Int, now: Instant, isLate: Bool) -> ChainStep {
        guard suspensions.indices.contains(entry), let suspension = suspensions[entry] else {
            witness.broken("entry \(entry) expires and is not suspended", by: self)
            return .ended(.nowhere)
        }
        guard isLate || now.nanoseconds >= suspension.deadline else {
            return .suspended(until: Instant(nanoseconds: suspension.deadline))
        }
        return end(entry, suspension, isKept: PlantedFault.isPlanted(.deadlineBesideStage))
    }

    private func end(_ entry: Int, _ suspension: Suspension, isKept: Bool = false) -> ChainStep {
        if !isKept { forget(entry) }
        current = suspension.output
        return suspension.result
    }

    package func byteCount(ofSuspended entry: Int) -> Int { 0 }

    package func abandon(entry: Int) {
        guard suspensions.indices.contains(entry), suspensions[entry] != nil else {
            return witness.broken("entry \(entry) is abandoned and is not suspended", by: self)
        }
        forget(entry)
    }

    private func forget(_ entry: Int) {
        suspensions[entry] = nil
        suspended.remove(entry)
    }

    /// True with a planted fault that takes a stage's result although its entry is in use for another message.
    private static var forgetsEnds: Bool {
        PlantedFault.isPlanted(.deadlineBesideStage) || PlantedFault.isPlanted(.revokedResultPublished)
    }
}
