import PushmillKafka
import PushmillStages
import PushmillStores

/// Commits finished work to the group, one checkpoint after another: with an offset commit, or with a transaction that
/// holds outputs, changelog records and offsets. The shard performs each action and reports its outcome.
struct Checkpoint {
    enum State: Equatable {
        // At least once.
        case idle
        /// If the group has not answered by then, the commit is given up and made again.
        case committing(until: Instant)

        // Transactions.
        /// The action is due at `from`: a transaction step, or the replacement of a failed producer.
        case step(Action, from: Instant)
        /// Outputs are published into the transaction.
        case open
        /// No more outputs are published; waits until all published outputs and all count changes are acknowledged.
        case closing
    }

    enum Action: Equatable {
        case none
        /// Make marks of everything dirty and commit them.
        case commit
        /// No answer came: the offsets go into the next commit.
        case giveUpCommit
        case initialize
        case begin
        /// Send outputs and changes that wait for their batch at once.
        case flush
        /// Make marks of everything dirty, for the transaction.
        case mark
        case addOffsets
        case endTransaction
        case dropMarks
        case abort
        /// Every partition goes back to its last commit.
        case rewind
        case replaceProducer
    }

    /// A partition's progress at one moment.
    struct Mark {
        let partition: Int32
        let epoch: UInt32
        let id: TopicPartition
        let snapshot: OffsetLedger.Snapshot
        /// The last changelog record that was stored by then.
        let lastStored: RecordPosition?

        var position: Position { Position(id, offset: snapshot.offset, metadata: snapshot.metadata) }
    }

    private static let answerPatience = (least: Duration.milliseconds(1500), most: Duration.seconds(6))
    private static let failurePatience = Duration.seconds(1)
    /// How long a group may put off commits, as in a rebalance, before each report of a failure.
    private static let retryPatience = Duration.seconds(30)
    private static let retryDelay = Duration.milliseconds(50)
    /// Delay after a refusal: a group that does not know this member is about to tell it so.
    private static let refusalDelay = Duration.milliseconds(200)

    let isTransactional: Bool
    private let interval: Duration
    private(set) var state: State
    /// The number of the checkpoint that is under way, or of the last one.
    private(set) var number: UInt32
    /// The last checkpoint that the group accepted, at least in part, or that had nothing to commit.
    private(set) var ended: UInt32 = 0
    /// How long to wait for an answer: doubled after each commit that was given up, as a group may always be slow,
    /// until one is answered soon. Brokers give up themselves after five seconds (`offsets.commit.timeout.ms`).
    private var patience = Self.answerPatience.least
    private var due = Instant.past
    private var wanted: UInt32 = 0
    private var hasFailed = false
    /// When the first commit after the last accepted one was made; nil if there is none.
    private var unacceptedSince: Instant?
    private var toldAt = Instant.past
    private var begun = Instant.past
    /// Transactions aborted in a row.
    private var aborts = 0

    init(isTransactional: Bool, interval: Duration, number: UInt32 = 0) {
        self.isTransactional = isTransactional
        self.interval = interval
        self.number = number
        state = isTransactional ? .step(.initialize, from: .past) : .idle
    }

    /// Outputs may be published: a transaction is open, or none is needed.
    var takesOutputs: Bool { !isTransactional || state == .open }

    /// The group has accepted no commit for so long that messages stop waiting for one.
    func isLate(_ now: Instant) -> Bool { unacceptedSince.map { now > $0 + Self.failurePatience } ?? false }

    /// The group has put off commits for `retryPatience` and accepted none. True at most once in that time.
    mutating func isOverdue(_ now: Instant) -> Bool {
        guard let unacceptedSince, now >= max(unacceptedSince, toldAt) + Self.retryPatience else { return false }
        toldAt = now
        return true
    }

    /// Changes of counts may be published.
    var takesChanges: Bool { takesOutputs || state == .closing }

    /// The producer has taken over its transactional ID, if it has one.
    var isInitialized: Bool {
        switch state {
        case .step(.initialize, _), .step(.replaceProducer, _): false
        default: true
        }
    }

    /// Marks have been made and the checkpoint has not ended.
    var isUnderWay: Bool {
        switch state {
        case .committing, .step(.addOffsets, _), .step(.endTransaction, _): true
        default: false
        }
    }

    /// Requests a checkpoint of all work done so far, as soon as possible. Returns its number, to compare with `ended`.
    mutating func want() -> UInt32 {
        wanted = number &+ 1
        return wanted
    }

    /// The next action. `unanswered`: outputs and changes that the brokers are not known to have.
    mutating func advance(now: Instant, isDirty: Bool, unanswered: Int) -> Action {
        switch state {
        case .idle:
            guard isDirty else { return endWithNothing() }
            guard now >= due || isWanted else { return .none }
            number &+= 1
            begun = now
            unacceptedSince = unacceptedSince ?? now
            state = .committing(until: now + patience)
            return .commit
        case .committing(let until):
            guard now >= until else { return .none }
            state = .idle
            due = now
            patience = min(patience * 2, Self.answerPatience.most)
            return .giveUpCommit
        case .step(let action, let from): return now < from ? .none : action
        case .open:
            guard !hasFailed else { return beginAbort(now) }
            guard isDirty else { return endWithNothing() }
            guard now >= due || isWanted else { return .none }
            state = .closing
            return .flush
        case .closing:
            guard !hasFailed else { return beginAbort(now) }
            guard unanswered == 0 else { return .none }
            number &+= 1
            state = .step(.addOffsets, from: .past)
            return .mark
        }
    }

    private var isWanted: Bool { wanted == number &+ 1 }

    private mutating func endWithNothing() -> Action {
        if isWanted {
            number &+= 1
            ended = number
        }
        return .none
    }

    /// When `advance` has something to do, if nothing else happens.
    func wakeUp(isDirty: Bool) -> Instant {
        switch state {
        case .idle, .open: hasFailed ? .past : isDirty ? (isWanted ? .past : due) : .never
        case .committing(let until): until
        // The shard keeps the times for these.
        case .step(.replaceProducer, _), .closing: .never
        case .step(_, let from): from
        }
    }

    /// Handles the group's answer to the commit of that number. False if the commit was given up before.
    mutating func committed(_ number: UInt32, _ outcome: CommitAnswer, now: Instant) -> Bool {
        guard case .committing = state, number == self.number else { return false }
        state = .idle
        if now < begun + Self.answerPatience.least { patience = Self.answerPatience.least }
        switch outcome {
        case .accepted, .partly:
            unacceptedSince = nil
            ended = number
            due = max(begun + interval, now)
        case .retry: due = now + Self.retryDelay
        case .denied, .refused: due = now + Self.refusalDelay
        }
        return true
    }

    /// The transaction must not be committed: an output or changelog record was not stored, or partitions were lost.
    mutating func failTransaction() {
        guard isTransactional else { return }
        hasFailed = true
    }

    /// Handles the outcome of a step. Returns the action that must follow at once.
    mutating func stepped(_ step: TransactionStep, _ outcome: TransactionResult, now: Instant) -> Action {
        let soon = now + Self.retryDelay
        switch (step, outcome) {
        case (_, .failed): return producerFailed(now: now)
        case (.initialize, .done): state = .step(.begin, from: now)
        case (.begin, .done):
            hasFailed = false
            state = .open
            due = now + interval
        case (.addOffsets, .done): state = .step(.endTransaction, from: now)
        // The offsets may or may not be part of the transaction: an unknown outcome is not retried.
        case (.addOffsets, .retry): return abort(from: soon)
        case (_, .retry): if case .step(let action, _) = state { state = .step(action, from: soon) }
        case (.commit, .done):
            aborts = 0
            ended = number
            state = .step(.begin, from: now)
        case (.addOffsets, .abort), (.commit, .abort): return abort(from: now)
        case (.addOffsets, .notAMember), (.commit, .notAMember): return abort(from: now + Self.refusalDelay)
        case (.abort, .done):
            state = .step(.begin, from: now)
            return .rewind
        case (.initialize, _), (.begin, _), (.abort, _): return producerFailed(now: now)
        }
        return .none
    }

    private mutating func abort(from time: Instant) -> Action {
        _ = beginAbort(time)
        return .dropMarks
    }

    private mutating func beginAbort(_ now: Instant) -> Action {
        aborts = min(aborts + 1, 6)
        // A transaction that failed twice is likely to fail again, so aborts back off: 0, 40, 80, ... 640 ms.
        state = .step(.abort, from: aborts == 1 ? now : now + .milliseconds(10 << aborts))
        return .none
    }

    /// The producer takes nothing more and must be replaced. Offset commits do not need it.
    mutating func producerFailed(now: Instant) -> Action {
        guard isTransactional else { return .none }
        if case .step(.replaceProducer, _) = state { return .none }
        let wasUnderWay = isUnderWay
        state = .step(.replaceProducer, from: now)
        return wasUnderWay ? .dropMarks : .none
    }

    /// With transactions, everything since the last commit was either aborted or committed: the group is asked which.
    mutating func replaced(_ works: Bool, now: Instant) {
        guard isTransactional else { return }
        state = works ? .step(.initialize, from: now) : .step(.replaceProducer, from: now + .milliseconds(500))
    }
}
