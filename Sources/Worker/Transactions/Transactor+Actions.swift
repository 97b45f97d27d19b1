import Glibc
import Kafka
import Push
import Stores
import Telemetry

/// What the machine asks for.
extension Transactor {
    /// Milliseconds for the brokers to take offsets: what has failed is not asked again.
    private static let offsetsPatience: Int32 = 5000
    /// One after the other.
    private static let mostAcquittals = 3
    private static let refusalPatience = Duration.seconds(10)

    func perform(_ action: TransactionMachine.Action) -> TransactionMachine.Action {
        let failure: TransactionMachine.Failure?
        switch action {
        case .none: return .none
        case .initialize: failure = attempt(otherwise: .fatal, initialize)
        case .begin:
            guard isMember(TimeSource.system.now) else {
                pauseBeforeNext()
                return action
            }
            failure = attempt(otherwise: .fatal, begin)
        case .close:
            // It goes on being closed while answers are missing.
            guard close() else { return action }
            failure = nil
        case .commit: failure = addOffsets() ?? attempt(otherwise: .abortable, commit)
        case .fence:
            fence()
            failure = nil
        case .abort: failure = attempt(otherwise: .fatal, abort)
        case .rewind:
            failure = attempt(otherwise: .fatal, hear)
            if failure == nil {
                tell(.rewind)
                return .none
            }
        case .leave:
            transactions.gate.close()
            answer(.refused, all: true)
            return .none
        }
        return failure.map { machine.failed($0) } ?? machine.succeeded()
    }

    /// nil when it has succeeded. `otherwise` is for errors of which librdkafka does not say what they ask for.
    private func attempt(
        otherwise: TransactionMachine.Failure, _ step: () throws(KafkaError) -> Void
    ) -> TransactionMachine.Failure? {
        do throws(KafkaError) {
            try step()
            return nil
        } catch {
            let failure = judge(error, otherwise)
            switch failure {
            case .retriable:
                log.warning("a step of a transaction has failed, trying again", [.error(error)])
                pauseBeforeNext()
            case .abortable:
                log.warning("a transaction fails: its outputs will be made again", [.error(error)])
            case .fatal:
                let fatal = outputs.producer.fatalError ?? error
                log.error("no transaction can be made any more: leaving, to be started again", [.error(fatal)])
                tell(.cannotGoOn(fatal))
            }
            return failure
        }
    }

    private func judge(_ error: KafkaError, _ otherwise: TransactionMachine.Failure) -> TransactionMachine.Failure {
        if error.isFatal || outputs.producer.fatalError != nil { return .fatal }
        if error.requiresAbort { return .abortable }
        return error.isRetriable || error.isTimeOut ? .retriable : otherwise
    }

    private func initialize() throws(KafkaError) {
        try outputs.producer.initTransactions(milliseconds: Self.patience)
        log.info("the name of the transactions is taken over")
        status.transacting()
    }

    /// False while all that is published would have to be published again: the group is going to tell us.
    private func isMember(_ now: Instant) -> Bool {
        guard let refused, now < refused.at + Self.refusalPatience, consumer.groupMetadata() == refused.member else {
            refused = nil
            return true
        }
        return false
    }

    private func begin() throws(KafkaError) {
        try outputs.producer.beginTransaction()
        (losses, total) = (flow.losses, transactions.total)
        transactions.open()
        publishHeld()
        opened()
    }

    func publishHeld() { for lane in lanes { lane.post(.publishHeld) } }

    /// False while answers are missing.
    private func close() -> Bool {
        transactions.gate.close()
        // What waits for its batch goes now.
        guard outputs.producer.flush(milliseconds: Self.patience) else { return false }
        return areAllAnswered()
    }

    private func areAllAnswered() -> Bool {
        for _ in 0..<5000 {
            if transactions.areAllAnswered { return true }
            usleep(100)
        }
        return false
    }

    /// Once for each transaction.
    private func addOffsets() -> TransactionMachine.Failure? {
        guard cut == nil else { return nil }
        return attempt(otherwise: .abortable) { () throws(KafkaError) in
            // Before the cut: who loses a partition after this has a generation of which brokers take no offsets.
            let group = consumer.groupMetadata()
            let cut = flow.cut(nil)
            let (isWhole, marks) = (cut.losses == losses && !transactions.hasFailed, cut.marks)
            // Without offsets nobody asks whether we still are a member: then no count may be written either.
            let changes = marks.isEmpty ? nil : cut.batch.changes
            self.cut = consume cut
            cover()
            guard isWhole, let group else { throw KafkaError("not all of it may be committed") }
            guard let changes else { return }
            cutTime = SystemTime.milliseconds
            try changelog?.publish(changes, at: cutTime, by: outputs.producer)
            do throws(KafkaError) {
                try outputs.producer.sendOffsets(marks.map(\.position), of: group, milliseconds: Self.offsetsPatience)
            } catch {
                if error.isRefusalOfMember { refused = (group, TimeSource.system.now) }
                throw error
            }
        }.map { failure in
            if case .retriable = failure { .abortable } else { failure }
        }
    }

    private func commit() throws(KafkaError) {
        try outputs.producer.commitTransaction(milliseconds: Self.patience)
        guard let cut = cut.take() else { return }
        flow.committed(cut.marks)
        if cut.marks.isEmpty {
            flow.putBack(cut.batch)
        } else {
            while !areAllAnswered() {}
            let changes = cut.batch.changes
            flow.saved(cut.batch, in: changelog?.committed(changes, publishedAt: cutTime) ?? 0)
        }
        transactions.trial.close(isDone: flow.isDone)
        let took = TimeSource.system.now.nanoseconds(since: closedAt)
        metrics.checkpointSeconds.observe(nanoseconds: Int64(clamping: took))
        metrics.transactionsCommitted.add()
        acquittals = 0
        answer(.accepted, all: false)
    }

    private func fence() {
        transactions.gate.close()
        if let cut = cut.take() { flow.putBack(cut.batch) }
        answer(.refused, all: true)
        metrics.checkpointFailures.add()
        metrics.transactionsAborted.add()
    }

    /// Drops what waits and awaits the rest: each report is there when it returns.
    private func abort() throws(KafkaError) {
        try outputs.producer.abortTransaction(milliseconds: Self.patience)
        while !areAllAnswered() {}
    }

    /// Who is to blame for what was refused.
    private func hear() throws(KafkaError) {
        accused += transactions.trial.takeAccused()
        guard !accused.isEmpty else { return }
        let guilty = try hearing.hear(accused)
        for (index, error) in guilty { transactions.trial.convict(accused[index], error) }
        accused.removeAll()
        acquittals = guilty.isEmpty ? acquittals + 1 : 0
        guard acquittals < Self.mostAcquittals else {
            throw KafkaError(
                "batches are refused of which each record is taken: batch.size is above the topics' limits")
        }
    }
}
