import Glibc
import Kafka
import Push
import Telemetry

/// The thread that begins transactions and ends them: one each checkpoint interval while anything is done, and at once
/// when partitions are given back or the process ends.
final class Transactor {
    enum Request: Sendable {
        /// Partitions that are to be given back have been drained.
        case commit(attempt: Int)
        /// The last one before the process ends.
        case commitAll
        /// An output was not stored.
        case abort(KafkaError)
        /// State and input are back at the last commit.
        case rewound
        case stop
    }

    /// Milliseconds for one call; it is made again while the brokers do not answer.
    static let patience: Int32 = 1000
    private static let pause = Duration.milliseconds(100)
    /// While the group is joined anew brokers may refuse its offsets: how long a commit waits for that to be over.
    private static let joinPatience = Duration.seconds(2)

    let consumer: Consumer
    let outputs: Outputs
    let transactions: OutputTransactions
    let flow: Flow
    let hearing: Hearing
    /// Where counts are kept in one.
    let changelog: ChangelogRecords?
    let lanes: [Mailbox<LaneMessage>]
    private let interval: Duration
    let metrics: ServiceMetrics
    let status: WorkerStatus
    let log: Log
    let tell: @Sendable (PollerMessage) -> Void

    var machine = TransactionMachine()
    private var action = TransactionMachine.Action.none
    /// The last attempt has come to nothing: the next one waits for a moment.
    private var isPausing = false
    private var isStopping = false
    private var due = Instant.past
    private var joiningSince: Instant?
    /// When the transaction was begun.
    var losses = 0
    var total = 0
    /// When its end was begun.
    private(set) var closedAt = Instant.past
    /// What is being committed; its offsets are part of the transaction.
    var cut: Flow.Cut?
    /// When it was made, in milliseconds since 1970.
    var cutTime: Int64 = 0
    /// Answers that wait for a commit.
    private var waiting: [@Sendable (CommitOutcome) -> PollerMessage] = []
    /// As many of them, from the first one on, wait for the one that is under way.
    private var covered = 0
    /// Who we were, and when, as the group took no offsets from us.
    var refused: (member: GroupMetadata, at: Instant)?
    /// Of outputs in transactions that were aborted.
    var accused: [Trial.Accusation] = []
    /// How many times in turn nobody was to blame.
    var acquittals = 0

    init(
        consumer: Consumer, outputs: Outputs, transactions: OutputTransactions, flow: Flow, hearing: Hearing,
        changelog: ChangelogRecords?,
        lanes: [Mailbox<LaneMessage>], interval: Duration, metrics: ServiceMetrics, status: WorkerStatus, log: Log,
        tell: @escaping @Sendable (PollerMessage) -> Void
    ) {
        self.consumer = consumer
        self.outputs = outputs
        self.transactions = transactions
        self.flow = flow
        self.hearing = hearing
        self.changelog = changelog
        self.lanes = lanes
        self.interval = interval
        self.metrics = metrics
        self.status = status
        self.log = log
        self.tell = tell
    }

    /// The thread's life: ends with `Request.stop`.
    func serve() {
        var batch: [Request] = []
        action = machine.start()
        while true {
            transactions.requests.take(into: &batch, until: wakeUp)
            for request in batch { handle(request) }
            batch.removeAll(keepingCapacity: true)
            guard !isStopping else { return leaveOpen() }
            if machine.isOpen, action == .none { endIfDue(TimeSource.system.now) }
            isPausing = false
            if action != .none { action = perform(action) }
        }
    }

    private var wakeUp: Instant {
        if action == .none { return machine.isOpen ? due : .never }
        return isPausing ? TimeSource.system.now + Self.pause : .past
    }

    private func handle(_ request: Request) {
        switch request {
        case .commit(let attempt): waiting.append { .commitEnded($0, attempt: attempt) }
        case .commitAll where !machine.isInitialized: tell(.lastCommitEnded(.refused))
        case .commitAll: waiting.append { .lastCommitEnded($0) }
        case .abort(let error): wantAbort("a transaction fails: its outputs will be made again", error)
        case .rewound: action = machine.succeeded()
        case .stop: isStopping = true
        }
        if !waiting.isEmpty { due = .past }
    }

    private func wantAbort(_ why: StaticString, _ error: KafkaError) {
        let next = machine.abortWanted()
        guard next != .none else { return }
        log.warning(why, [.error(error)])
        action = next
    }

    private func endIfDue(_ now: Instant) {
        if flow.losses != losses {
            wantAbort("partitions went away before their outputs were committed", KafkaError("partitions lost"))
        } else if now >= due {
            due = now + interval
            guard !waiting.isEmpty || total != transactions.total || flow.isDirty else { return }
            guard !isJoining(now) else {
                due = now + Self.pause
                return
            }
            closedAt = now
            action = machine.commitWanted()
        }
    }

    private func isJoining(_ now: Instant) -> Bool {
        guard consumer.isJoining else {
            joiningSince = nil
            return false
        }
        let since = joiningSince ?? now
        joiningSince = since
        return now < since + Self.joinPatience
    }

    /// From here on answers have to wait for another commit.
    func cover() { covered = waiting.count }

    func answer(_ outcome: CommitOutcome, all: Bool) {
        let count = all ? waiting.count : covered
        for message in waiting[..<count] { tell(message(outcome)) }
        waiting.removeFirst(count)
        covered = 0
    }

    func pauseBeforeNext() { isPausing = true }

    func opened() { due = waiting.isEmpty ? TimeSource.system.now + interval : .past }

    /// What is open then holds up whoever reads the outputs, until it is aborted or its time is over.
    private func leaveOpen() {
        guard machine.isInitialized else { return }
        try? outputs.producer.abortTransaction(milliseconds: Self.patience)
    }
}
