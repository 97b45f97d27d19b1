import Glibc
import Kafka
import Push
import Telemetry

/// What cannot be published at once is held, in the order of its topic: where outputs belong to transactions until the
/// next one is open, and while librdkafka itself takes none, because the topic is not to be had, until it does. Dead
/// letters so hold up no notification.
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
        if !held.contains(where: { $0.topic === topic }) {
            switch pass(slot, tag, { send(to: topic, key, value, &headers, timestamp, tag) }) {
            case .through: return nil
            case .refused(let error) where error.isTooLarge: return error
            case .refused(let error): wait(for: error)
            case .closed: break
            }
        }
        var taken = Headers()
        swap(&taken, &headers)
        held.append(
            HeldOutput(
                to: topic, key: key, value: value, headers: taken, timestamp: timestamp, tag: tag, slot: slot,
                origin: origin()))
        return nil
    }

    private func wait(for error: KafkaError) {
        if let transactions, error.isOfState { return transactions.requests.post(.abort(error)) }
        guard !isRefused else { return }
        isRefused = true
        outputs.refused()
        log.error("outputs are not taken for now: they wait", [.error(error)])
    }

    private func endWait() {
        guard isRefused else { return }
        isRefused = false
        outputs.takenAgain()
        log.info("outputs do not wait any more")
    }

    /// Publishes what is held, as far as it is taken; what is late is given up in any case.
    func publishHeld() {
        var refused: [HeldOutput] = []
        var count = 0
        seen: while count < held.count {
            let output = held[count]
            if isLate(output.slot) {
                abandon(output.tag.ticket)
            } else if refused.contains(where: { $0.topic === output.topic }) {
                refused.append(output)
            } else {
                switch pass(output.slot, output.tag, { send(output) }) {
                case .through: break
                case .closed: break seen
                case .refused(let error) where error.isTooLarge: refused.append(convict(output, error))
                case .refused(let error):
                    wait(for: error)
                    refused.append(output)
                }
            }
            count += 1
        }
        held.replaceSubrange(..<count, with: refused)
        if held.isEmpty { endWait() }
    }

    /// With transactions it becomes a dead letter in the next one, otherwise at once: what goes on in its place is
    /// returned.
    private func convict(_ output: HeldOutput, _ error: KafkaError) -> HeldOutput {
        if let transactions {
            let conviction = Trial.Conviction(reason: error.name, isLetterRefused: output.tag.reason != nil)
            transactions.trial.convict(output.origin, conviction)
            transactions.requests.post(.abort(error))
            return output
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
        guard let transactions, let door else { return send().map { .refused($0) } ?? .through }
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
