import Glibc
import Kafka
import Push
import Telemetry

/// What cannot be published at once is held, in its order: where outputs belong to transactions until the next one is
/// open, and while librdkafka itself takes none, because their topic is not to be had, until it does.
extension Publisher {
    /// What is held is tried again so often.
    static let heldPatience = Duration.milliseconds(100)

    func publish(
        _ verdict: Verdict, of carrier: Carrier, _ item: LaneItem, in transactions: OutputTransactions
    ) {
        let delivery = carrier.delivery
        guard let conviction = transactions.trial.conviction(of: delivery.record.source.position) else {
            return publish(verdict, delivery, headers: carrier.takeHeaders(), item.ticket, item.slot)
        }
        log.error(
            "the brokers have refused an output for good: it becomes a dead letter",
            [.source("\(delivery.record.source)"), .error(text: conviction.reason)])
        let letter = chain.deadLetter(
            delivery, .publishFailed, message: conviction.reason, counted: true)
        if conviction.isLetterRefused {
            publishName(of: delivery, DeliveryTag(item.ticket, letter), item.slot)
        } else {
            publish(letter, delivery, headers: carrier.takeHeaders(), item.ticket, item.slot)
        }
    }

    /// Publishes the output, or holds it. An error says that librdkafka itself does not take it for its size.
    func enter(
        _ topic: ProducerTopic, _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?,
        _ headers: inout Headers, _ timestamp: Int64, _ tag: DeliveryTag, _ slot: PartitionSlot,
        _ origin: @autoclosure () -> Position
    ) -> KafkaError? {
        var refusal: KafkaError?
        if isOrdered(topic, tag) ? !held.hasOrdered : !held.hasLetters {
            switch pass(slot, tag, { send(to: topic, key, value, &headers, timestamp, tag) }) {
            case .through: return nil
            case .refused(let error) where error.isTooLarge: return error
            case .refused(let error): refusal = error
            case .closed: break
            }
        }
        var taken = Headers()
        swap(&taken, &headers)
        hold(
            HeldOutput(
                to: topic, key: key, value: value, headers: taken, timestamp: timestamp, tag: tag, slot: slot,
                origin: origin()), after: refusal)
        return nil
    }

    /// Whether it has its place in the order of its recipient.
    private func isOrdered(_ topic: ProducerTopic, _ tag: DeliveryTag) -> Bool {
        topic !== outputs.deadLetters || flow.hasChange(tag.ticket)
    }

    /// Behind what is held already.
    func hold(_ output: HeldOutput, after refusal: KafkaError? = nil) {
        held.withQueues { queues in
            append(output, to: &queues)
            if let refusal { wait(for: refusal, &queues) }
        }
    }

    private func append(_ output: HeldOutput, to queues: inout HeldOutputs.Queues) {
        if isOrdered(output.topic, output.tag) { queues.ordered.append(output) } else { queues.letters.append(output) }
    }

    private func wait(for error: KafkaError, _ queues: inout HeldOutputs.Queues) {
        if let transactions, error.isOfState { return transactions.requests.post(.abort(error)) }
        guard !queues.isRefused else { return }
        queues.isRefused = true
        outputs.refused()
        log.error("outputs are not taken for now: they wait", [.error(error)])
    }

    /// Publishes what is held, as far as it is taken; what is late is given up wherever it stands.
    func publishHeld() {
        guard !held.isEmpty else { return }
        held.withQueues { queues in
            let closings = flow.closings
            if closings != heldClosings {
                heldClosings = closings
                queues.ordered.removeAll(where: isGivenUp)
                queues.letters.removeAll(where: isGivenUp)
            }
            let count = publish(queues.ordered, &queues)
            queues.ordered.removeFirst(count)
            let letterCount = publish(queues.letters, &queues)
            queues.letters.removeFirst(letterCount)
            guard queues.isRefused, queues.ordered.isEmpty, queues.letters.isEmpty else { return }
            queues.isRefused = false
            outputs.takenAgain()
            log.info("outputs do not wait any more")
        }
    }

    private func isGivenUp(_ output: HeldOutput) -> Bool {
        guard isLate(output.slot) else { return false }
        abandon(output.tag.ticket)
        return true
    }

    /// How many of them need not be held any more.
    private func publish(_ waiting: [HeldOutput], _ queues: inout HeldOutputs.Queues) -> Int {
        for (count, output) in waiting.enumerated() where !isGivenUp(output) {
            switch pass(output.slot, output.tag, { send(output) }) {
            case .through: break
            case .closed: return count
            case .refused(let error) where error.isTooLarge:
                guard let letter = convict(output, error) else { return count }
                append(letter, to: &queues)
            case .refused(let error):
                wait(for: error, &queues)
                return count
            }
        }
        return waiting.count
    }

    /// It becomes a dead letter: with transactions in the next one, otherwise at once, and here it is.
    private func convict(_ output: HeldOutput, _ error: KafkaError) -> HeldOutput? {
        if let transactions {
            let conviction = Trial.Conviction(reason: error.name, isLetterRefused: output.tag.reason != nil)
            transactions.trial.convict(output.origin, conviction)
            transactions.requests.post(.abort(error))
            return nil
        }
        let delivery = Delivery(at: output.origin, timestamp: output.timestamp)
        logTooLarge(delivery, error)
        let letter = chain.deadLetter(delivery, .publishFailed, message: error.name, counted: true)
        return HeldOutput(
            to: outputs.deadLetters, key: nil, value: nil, headers: names(of: delivery), timestamp: output.timestamp,
            tag: DeliveryTag(output.tag.ticket, letter), slot: output.slot, origin: output.origin)
    }

    private enum Passage {
        case closed
        /// On its way, or given up because it is late.
        case through
        case refused(KafkaError)
    }

    private func pass(
        _ slot: PartitionSlot, _ tag: DeliveryTag, _ send: () -> KafkaError?
    ) -> Passage {
        guard let transactions, let door else {
            guard isResending || !outputs.haveReturned else { return .closed }
            return send().map { .refused($0) } ?? .through
        }
        guard door.enter() else { return .closed }
        defer { door.leave() }
        // Whoever has fenced a slot before this transaction began is seen in here.
        if isLate(slot) {
            abandon(tag.ticket)
            return .through
        }
        if let error = send() { return .refused(error) }
        transactions.published()
        return .through
    }

    private func send(_ output: HeldOutput) -> KafkaError? {
        var headers = output.headers
        return output.key.withBytes { key in
            output.value.withBytes {
                send(to: output.topic, key, $0, &headers, output.timestamp, output.tag)
            }
        }
    }
}

extension Delivery {
    /// Of a record of which no more is left than where it is.
    convenience init(at origin: Position, timestamp: Int64) {
        self.init()
        record.source = Source(
            topic: SourceTopic(origin.partition.topic), partition: origin.partition.partition, offset: origin.offset)
        record.timestamp = timestamp
    }
}

extension Source {
    var position: Position { Position(TopicPartition(topic.name, partition), offset: offset) }
}
