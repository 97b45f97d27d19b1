import PushmillKafka
import PushmillStages
import PushmillStores

/// Brings what is done to the group, one checkpoint after the other. Two ways lead to an end: a commit; or a transaction
/// that holds outputs, changelog and offsets. The shard performs each action and tells what came of it.
struct Checkpoint {
    enum State: Equatable {
        // At least once.
        case idle
        /// The group is to answer the commit until then, or it is made again.
        case committing(until: Instant)

        // Transactions.
        /// A step is due from that time on, or another producer in the place of one that has failed.
        case step(Action, from: Instant)
        /// Outputs are published into it.
        case open
        /// No output more; what was published is awaited, and changes of counts.
        case closing
    }

    enum Action: Equatable {
        case none
        /// Marks are made of all that is dirty, and the group is asked to take them.
        case commit
        /// No answer came: the offsets belong to the next one.
        case giveUpCommit
        case initialize
        case begin
        /// Send at once what waits for its batch.
        case flush
        /// Marks are made of all that is dirty, for the transaction.
        case mark
        case addOffsets
        case endTransaction
        /// The marks come to nothing.
        case dropMarks
        case abort
        /// Every partition goes back to its last commit.
        case rewind
        case replaceProducer
    }

    /// How far a partition is at one moment.
    struct Mark {
        let partition: Int32
        let epoch: UInt32
        let place: TopicPartition
        let snapshot: OffsetLedger.Snapshot
        /// The last changelog record that was stored by then.
        let lastStored: RecordPosition?

        var position: Position { Position(place, offset: snapshot.offset, metadata: snapshot.metadata) }
    }

    private static let answerPatience = (least: Duration.milliseconds(1500), most: Duration.seconds(6))
    private static let failurePatience = Duration.seconds(1)
    /// How long a group may put commits off, as in a rebalance, before that is a failure, and then another one.
    private static let retryPatience = Duration.seconds(30)
    private static let retryDelay = Duration.milliseconds(50)
    /// A group that does not know this member is about to tell it so.
    private static let refusalDelay = Duration.milliseconds(200)

    let isTransactional: Bool
    private let interval: Duration
    private(set) var state: State
    /// The number of the checkpoint that is under way, or of the last one.
    private(set) var number: UInt32
    /// The last one that the group has answered, or of which there was nothing to ask.
    private(set) var ended: UInt32 = 0
    /// Twice as long after each commit that was given up, until an answer comes soon: a group may take long for each. Brokers
    /// give a commit up themselves after five seconds (`offsets.commit.timeout.ms`).
    private var patience = Self.answerPatience.least
    private var due = Instant.past
    private var wanted: UInt32 = 0
    private var hasFailed = false
    /// When the first of the commits was made that the group has not taken since it took one.
    private var failsSince: Instant?
    private var toldAt = Instant.past
    private var begun = Instant.past
    /// Transactions that were aborted one after the other.
    private var aborts = 0

    init(isTransactional: Bool, interval: Duration, number: UInt32 = 0) {
        self.isTransactional = isTransactional
        self.interval = interval
        self.number = number
        state = isTransactional ? .step(.initialize, from: .past) : .idle
    }

    /// Outputs may be published: there is a transaction for them, or none is needed.
    var takesOutputs: Bool { !isTransactional || state == .open }

    /// The group has taken no commit for so long that no message is to wait for one.
    func isLate(_ now: Instant) -> Bool { failsSince.map { now > $0 + Self.failurePatience } ?? false }

    /// The group puts off one commit after the other, and has taken none for long: true once in so long a time.
    mutating func isOverdue(_ now: Instant) -> Bool {
        guard let failsSince, now >= max(failsSince, toldAt) + Self.retryPatience else { return false }
        toldAt = now
        return true
    }

    /// Changes of counts may be published.
    var takesChanges: Bool { takesOutputs || state == .closing }

    /// The producer's name in the cluster is ours.
    var isInitialized: Bool {
        switch state {
        case .step(.initialize, _), .step(.replaceProducer, _): false
        default: true
        }
    }

    /// Marks have been made, and it has not ended.
    var isUnderWay: Bool {
        switch state {
        case .committing, .step(.addOffsets, _), .step(.endTransaction, _): true
        default: false
        }
    }

    /// One that holds everything done by now is to begin as soon as it can. Gives its number, to be compared with `ended`.
    mutating func want() -> UInt32 {
        wanted = number &+ 1
        return wanted
    }

    /// What is to be done now. `unanswered`: outputs and changes that the brokers are not known to have.
    mutating func advance(now: Instant, isDirty: Bool, unanswered: Int) -> Action {
        switch state {
        case .idle:
            guard isDirty else { return endWithNothing() }
            guard now >= due || isWanted else { return .none }
            number &+= 1
            begun = now
            failsSince = failsSince ?? now
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
        // The shard has times of its own for that.
        case .step(.replaceProducer, _), .closing: .never
        case .step(_, let from): from
        }
    }

    /// The group's answer to the commit of that number. False when nobody waits for it any more.
    mutating func committed(_ number: UInt32, _ outcome: CommitAnswer, now: Instant) -> Bool {
        guard case .committing = state, number == self.number else { return false }
        state = .idle
        if now < begun + Self.answerPatience.least { patience = Self.answerPatience.least }
        switch outcome {
        case .accepted, .partly:
            failsSince = nil
            ended = number
            due = max(begun + interval, now)
        case .retry: due = now + Self.retryDelay
        case .denied, .refused: due = now + Self.refusalDelay
        }
        return true
    }

    /// An output or a record of the changelog was not stored, or partitions were lost: the transaction must not be
    /// committed.
    mutating func failTransaction() {
        guard isTransactional else { return }
        hasFailed = true
    }

    /// What came of a step. Gives what else is to be done at once.
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
        // The offsets may be part of the transaction or not: what is not known is not asked twice.
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
        // What has failed twice is likely to fail again: 0, 40, 80, ... 640 ms.
        state = .step(.abort, from: aborts == 1 ? now : now + .milliseconds(10 << aborts))
        return .none
    }

    /// The producer will take nothing any more: another is made. A commit does without it.
    mutating func producerFailed(now: Instant) -> Action {
        guard isTransactional else { return .none }
        if case .step(.replaceProducer, _) = state { return .none }
        let wasUnderWay = isUnderWay
        state = .step(.replaceProducer, from: now)
        return wasUnderWay ? .dropMarks : .none
    }

    /// With transactions everything since the last commit has come to nothing, or is committed: the group is asked.
    mutating func replaced(_ works: Bool, now: Instant) {
        guard isTransactional else { return }
        state = works ? .step(.initialize, from: now) : .step(.replaceProducer, from: now + .milliseconds(500))
    }
}
