import PushmillEngine
package import PushmillKafka

extension SimulatedPorts {
    private static var patience: UInt64 { .seconds(1) }

    package func transact(_ step: TransactionStep) -> TransactionResult {
        guard node.isAlive, let producer, let name = transactionalName else { return .failed(KafkaError("gone")) }
        if producer.hasFailed { return .failed(KafkaError("the producer has failed")) }
        interrupt(step, isAfter: false)
        guard node.isAlive else { return .failed(KafkaError("gone")) }
        let outcome: TransactionResult
        switch step {
        case .initialize: outcome = initialize(producer, name)
        case .begin:
            producer.beginTransaction()
            outcome = .done
        case .addOffsets(let positions): outcome = add(positions, producer, name)
        case .commit: outcome = commit(producer, name)
        case .abort: outcome = abort(producer, name)
        }
        interrupt(step, isAfter: true)
        timeline.history.tell(timeline.now, number, "\(step): \(outcome)")
        timeline.note(number, .step, Int64(producer.epoch), outcome == .done ? 1 : 0)
        return outcome
    }

    private func interrupt(_ step: TransactionStep, isAfter: Bool) {
        let moment: Interruption.Moment =
            switch step {
            case .initialize: .initialize
            case .begin: .begin
            case .addOffsets: .addOffsets
            case .commit: .commit
            case .abort: .abort
            }
        guard let interruption = node.interruption, interruption.moment == moment, interruption.isAfter == isAfter,
            waitFor(0, { true })
        else { return }
        node.interruption = nil
        interruption.happen()
        _ = waitFor(1) { false }
    }

    /// Asks brokers. Waits for the answer while the simulation goes on, if that is possible; otherwise the answer comes
    /// at once, and the turn takes as long as the wait would have.
    private func ask<Answer>(_ apply: @escaping (Cluster) -> Answer?) -> Answer? {
        var answer: Answer?
        var isThere = false
        let canWait = waitFor(0) { true }
        if canWait, let (late, happen) = node.dying.take() {
            let cluster = cluster
            timeline.after(late) { if !cluster.isOut { _ = apply(cluster) } }
            happen()
            return nil
        }
        guard canWait else {
            elapsed += dice.between(.microseconds(300)...(.milliseconds(3)))
            guard node.isReachable, !cluster.isOut, !dice.chance(node.network.lost) else {
                elapsed += .milliseconds(400)
                return nil
            }
            answer = apply(cluster)
            return dice.chance(node.network.lost) ? nil : answer
        }
        Connection(node, hasStrays: false).request(patience: .milliseconds(400), apply) { value in
            answer = value
            isThere = true
        }
        _ = waitFor(Self.patience) { isThere }
        return answer
    }

    private func initialize(_ producer: ProducerClient, _ name: String) -> TransactionResult {
        guard let answer = ask({ $0.transactions.initialize(name) }) else { return .retry(.unanswered) }
        guard case .ready(let id, let epoch) = answer else {
            elapsed += .milliseconds(5)
            return .retry(.unanswered)
        }
        producer.adopt(producer: id, epoch: epoch)
        return .done
    }

    private func add(_ positions: [Position], _ producer: ProducerClient, _ name: String) -> TransactionResult {
        let epoch = producer.epoch
        let (id, generation) = (membership?.id ?? -1, membership?.generation ?? -1)
        guard membership?.hasNewMemberID != true else { return .notAMember(KafkaError("renamed")) }
        let isStatic = membership?.isStatic ?? false
        let hasMetadata = !PlantedFault.isPlanted(.offsetsWithoutGroupMetadata)
        producer.hasOffsets = true
        let answer = ask { cluster -> (TransactionCoordinator.Answer, GroupCoordinator.CommitAnswer?)? in
            let added = cluster.transactions.addOffsets(to: name, epoch: epoch)
            guard added == .done else { return (added, nil) }
            let transaction = cluster.transactions.transaction(of: name)
            return (
                .done,
                cluster.group.commit(
                    positions, member: id, generation: generation, isStatic: isStatic, transaction: transaction,
                    hasMetadata: hasMetadata)
            )
        }
        guard let answer else { return .retry(.unanswered) }
        switch answer {
        case (.fenced, _): return fenced(producer)
        case (.concurrent, _): return .retry(.unanswered)
        case (.invalidState, _): return .abort(KafkaError("no transaction"))
        case (.done, .accepted(let refused)):
            return refused.isEmpty ? .done : .abort(KafkaError("metadata too long"))
        case (.done, .denied): return .abort(KafkaError("denied"))
        case (.done, .refused(.rebalance)): return .retry(.unanswered)
        case (.done, .refused(let reason)): return .notAMember(KafkaError("\(reason)"))
        case (.done, nil): return .retry(.unanswered)
        }
    }

    private func fenced(_ producer: ProducerClient) -> TransactionResult {
        producer.fail()
        _ = producer.purge(all: true)
        return .failed(KafkaError("fenced"))
    }

    private func commit(_ producer: ProducerClient, _ name: String) -> TransactionResult {
        producer.flush()
        if producer.outstanding > 0 {
            _ = waitFor(.milliseconds(500)) {
                producer.outstanding == 0 || producer.hasFailed || producer.refusedInTransaction != nil
            }
        }
        if producer.hasFailed { return .failed(KafkaError("the producer has failed")) }
        if let refusal = producer.refusedInTransaction { return .abort(KafkaError("\(refusal)")) }
        guard producer.outstanding == 0 else {
            elapsed += .milliseconds(2)
            return .retry(.unanswered)
        }
        guard producer.hasWrittenInTransaction else { return ended(producer) }
        let epoch = producer.epoch
        switch ask({ $0.transactions.end(name, epoch: epoch, commits: true) }) {
        case nil, .concurrent: return .retry(.unanswered)
        case .fenced: return fenced(producer)
        case .invalidState: return .abort(KafkaError("no transaction is open"))
        case .done: return ended(producer)
        }
    }

    private func abort(_ producer: ProducerClient, _ name: String) -> TransactionResult {
        let epoch = producer.epoch
        if producer.isInTransaction { _ = producer.purge(all: true) }
        guard !producer.hasLost else {
            elapsed += .milliseconds(2)
            return .retry(.unanswered)
        }
        let isOpen = producer.isInTransaction && producer.hasWrittenInTransaction
        if isOpen {
            switch ask({ $0.transactions.end(name, epoch: epoch, commits: false) }) {
            case nil, .concurrent: return .retry(.unanswered)
            case .fenced: return fenced(producer)
            case .invalidState, .done: break
            }
        }
        // A later epoch fences what was in flight when it was purged.
        switch ask({ $0.transactions.bump(name, epoch: epoch) ?? .ready(producer: -1, epoch: -1) }) {
        case nil, .concurrent: return .retry(.unanswered)
        case .ready(-1, _): return fenced(producer)
        case .ready(let id, let epoch):
            producer.adopt(producer: id, epoch: epoch)
            return ended(producer)
        }
    }

    private func ended(_ producer: ProducerClient) -> TransactionResult {
        producer.isInTransaction = false
        return .done
    }
}
