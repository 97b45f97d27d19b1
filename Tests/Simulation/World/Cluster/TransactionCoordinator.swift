/// Transactions from their coordinator's view: each transactional ID has one producer with its epoch.
package final class TransactionCoordinator {
    package enum Outcome: Sendable { case open, committed, aborted }

    package enum Answer: Sendable, Equatable {
        case done
        /// Another producer has the transactional ID, or the coordinator has ended the transaction.
        case fenced
        /// The previous transaction has not ended everywhere yet: the caller asks again.
        case concurrent
        /// No transaction is open.
        case invalidState
    }

    package enum InitAnswer: Sendable, Equatable {
        case ready(producer: Int32, epoch: Int16)
        case concurrent
    }

    private enum State { case empty, ongoing, ending }

    private struct Name {
        let text: String
        let producer: Int32
        var epoch: Int16
        var state = State.empty
        var transaction = 0
        var logs: [PartitionLog] = []
        var hasOffsets = false
        var last: Outcome?
    }

    weak var cluster: Cluster?
    /// The coordinator aborts a transaction after this time.
    package var timeout: UInt64 = .seconds(10)
    /// How long a marker takes to reach each partition.
    package var markerDelay: ClosedRange<UInt64> = .microseconds(200)...(.milliseconds(5))
    private let timeline: Timeline
    private var names: [Name] = []
    private var outcomes: [Outcome] = [.committed]

    init(timeline: Timeline) { self.timeline = timeline }

    package func outcome(of transaction: Int) -> Outcome { outcomes[transaction] }

    /// Hands the transactional ID to a producer: the previous one is fenced, and its open transaction is aborted.
    package func initialize(_ text: String) -> InitAnswer {
        guard let index = names.firstIndex(where: { $0.text == text }) else {
            let producer = cluster?.newProducer() ?? 0
            names.append(Name(text: text, producer: producer, epoch: 0))
            return .ready(producer: producer, epoch: 0)
        }
        switch names[index].state {
        case .ending: return .concurrent
        case .ongoing:
            names[index].epoch += 1
            end(index, commits: false)
            timeline.note(900 + index, .fence, Int64(names[index].epoch))
            return .concurrent
        case .empty:
            names[index].epoch += 1
            names[index].last = nil
            return .ready(producer: names[index].producer, epoch: names[index].epoch)
        }
    }

    /// The open transaction under this transactional ID is aborted as at its timeout.
    func timeOut(_ text: String) {
        guard let index = names.firstIndex(where: { $0.text == text }) else { return }
        expire(index, names[index].transaction)
    }

    /// Opens a transaction under this transactional ID, unless one is open.
    private func open(_ index: Int) {
        guard names[index].state == .empty else { return }
        outcomes.append(.open)
        names[index].transaction = outcomes.count - 1
        names[index].state = .ongoing
        names[index].logs = []
        names[index].hasOffsets = false
        let (transaction, timeout) = (names[index].transaction, timeout)
        timeline.after(timeout) { [weak self] in self?.expire(index, transaction) }
    }

    private func expire(_ index: Int, _ transaction: Int) {
        guard names[index].state == .ongoing, names[index].transaction == transaction else { return }
        if cluster?.isOut == true {
            timeline.after(timeout) { [weak self] in self?.expire(index, transaction) }
            return
        }
        names[index].epoch += 1
        timeline.note(900 + index, .fence, Int64(names[index].epoch), 1)
        end(index, commits: false)
    }

    private func check(_ text: String, _ epoch: Int16) -> (index: Int, answer: Answer) {
        guard let index = names.firstIndex(where: { $0.text == text }) else { return (0, .fenced) }
        guard names[index].epoch == epoch else { return (index, .fenced) }
        return (index, names[index].state == .ending ? .concurrent : .done)
    }

    /// Adds a partition to the transaction: later appends to it are part of the transaction.
    package func add(_ log: PartitionLog, to text: String, epoch: Int16) -> Answer {
        let (index, answer) = check(text, epoch)
        guard answer == .done else { return answer }
        open(index)
        if !names[index].logs.contains(where: { $0 === log }) { names[index].logs.append(log) }
        return .done
    }

    /// Adds the group's offsets to the transaction.
    package func addOffsets(to text: String, epoch: Int16) -> Answer {
        let (index, answer) = check(text, epoch)
        guard answer == .done else { return answer }
        open(index)
        names[index].hasOffsets = true
        return .done
    }

    /// Appends as part of the open transaction.
    package func append(_ batch: Batch, to log: PartitionLog, of text: String) -> AppendAnswer {
        guard let index = names.firstIndex(where: { $0.text == text }) else { return .refused(.noTransaction) }
        guard names[index].epoch == batch.epoch else { return .refused(.fenced) }
        guard names[index].state == .ongoing, names[index].logs.contains(where: { $0 === log }) else {
            // What its partition has already is answered as before, whatever came of the transaction.
            return .refused(names[index].state == .ending ? .concurrentTransaction : .noTransaction)
        }
        return log.append(batch, transaction: names[index].transaction)
    }

    package func transaction(of text: String) -> Int { names.first { $0.text == text }?.transaction ?? 0 }

    package func end(_ text: String, epoch: Int16, commits: Bool) -> Answer {
        guard let index = names.firstIndex(where: { $0.text == text }), names[index].epoch == epoch else {
            return .fenced
        }
        switch names[index].state {
        case .ongoing:
            end(index, commits: commits)
            return .done
        case .ending, .empty:
            // The answer was lost, and the request is sent again.
            return names[index].last == (commits ? .committed : .aborted) ? .done : .invalidState
        }
    }

    /// A producer continues under a later epoch, which fences its batches in flight.
    package func bump(_ text: String, epoch: Int16) -> InitAnswer? {
        guard let index = names.firstIndex(where: { $0.text == text }), names[index].epoch == epoch else { return nil }
        guard names[index].state == .empty else { return .concurrent }
        names[index].epoch += 1
        names[index].last = nil
        return .ready(producer: names[index].producer, epoch: names[index].epoch)
    }

    private func end(_ index: Int, commits: Bool) {
        let name = names[index]
        names[index].state = .ending
        names[index].last = commits ? .committed : .aborted
        outcomes[name.transaction] = commits ? .committed : .aborted
        timeline.note(900 + index, .transactionEnd, Int64(name.transaction), commits ? 1 : 0)
        if name.hasOffsets { cluster?.group.decided(name.transaction, commits: commits) }
        var missing = name.logs.count + (name.hasOffsets ? 1 : 0)
        let isLast = { [weak self] in
            missing -= 1
            if missing <= 0 { self?.names[index].state = .empty }
        }
        if missing == 0 { names[index].state = .empty }
        for log in name.logs { mark(log, name, epoch: names[index].epoch, commits: commits, done: isLast) }
        guard name.hasOffsets else { return }
        timeline.after(timeline.dice.between(markerDelay)) { [weak self] in
            self?.cluster?.group.ended(name.transaction, commits: commits)
            isLast()
        }
    }

    private func mark(
        _ log: PartitionLog, _ name: Name, epoch: Int16, commits: Bool, done: @escaping () -> Void
    ) {
        timeline.after(timeline.dice.between(markerDelay)) { [weak self] in
            guard let self else { return }
            if log.isLeaderAway || cluster?.isOut == true {
                timeline.after(.milliseconds(50)) { [weak self] in
                    self?.mark(log, name, epoch: epoch, commits: commits, done: done)
                }
                return
            }
            log.mark(name.transaction, commits: commits, producer: name.producer, epoch: epoch)
            done()
        }
    }
}
