package import PushmillKafka
package import PushmillPayload
package import PushmillStages
package import PushmillStores

/// A shard's interface to everything outside, for its thread alone. `KafkaPorts` is the real one; the simulation has
/// its own. No call waits except `wait`, `seek` and the steps of transactions; the last two have a bound.
package protocol ShardPorts: ~Copyable {
    associatedtype Message: LentMessage
    /// An output that owns its bytes and can be sent later.
    associatedtype Output: Sendable

    /// The monotonic clock.
    var now: Instant { get }
    /// Milliseconds since 1970.
    var wallClock: Int64 { get }

    /// Returns at that time, or as soon as there may be news: a record (only if `records` is true), an event, a report,
    /// a stage that has ended, a command.
    mutating func wait(until time: Instant, records: Bool)

    /// The group's events and the answers to requests, in order.
    mutating func takeEvents() -> [ConsumerEvent]

    /// Answers `ConsumerEvent.assigned`. The partitions are not read before `read`.
    mutating func acceptAssignment()

    /// Reads assigned partitions from exactly these offsets, or an end of the log (`Position.beginning`, `.end`).
    mutating func read(_ positions: [Position])

    /// Stops reading the partition until the next `read`.
    mutating func stop(_ partition: TopicPartition)

    /// Answers `revoked` and `lost`: stops reading the partitions.
    mutating func giveBack(_ partitions: [TopicPartition])

    /// Continues reading from there. Fetched records are dropped. False if that is not certain: the caller tries again.
    mutating func seek(to position: Position) -> Bool

    /// Answered by `ConsumerEvent.committed`, or never: the caller asks again after a while.
    mutating func askCommitted(_ partitions: [TopicPartition])

    /// Asks which offsets the log holds. Answered by `ConsumerEvent.range`, or never.
    mutating func askRange(_ partition: TopicPartition)

    /// Asks which record the log has at that offset. Answered by `ConsumerEvent.record`, or never.
    mutating func askRecord(_ position: Position)

    /// Answered by `ConsumerEvent.commitEnded` with that number, or never.
    mutating func commit(_ positions: [Position], number: UInt32)

    /// The consumer is rejoining the group: a commit would carry an old generation, or a member ID that the shard
    /// does not know yet.
    var isJoining: Bool { get }

    /// Begins to leave the group; `hasLeft` tells when it is done.
    mutating func leave()
    var hasLeft: Bool { get }

    /// The next fetched record, or nil. The caller passes it to `release` once.
    mutating func nextMessage() -> Message?

    mutating func release(_ message: Message)

    /// Returns the message in memory of its own and frees the original, for a message that may wait long.
    mutating func own(_ message: Message) -> Message

    /// The number that records of this topic carry.
    mutating func number(ofTopic topic: String) -> UInt32

    /// A hash of the recipient, which orders messages; nil if there is none. Its key is this process's own.
    mutating func orderHash(_ message: Message) -> UInt64?

    /// Lends the changelog key of the account whose count the message may change; nil if there is none.
    mutating func withAccount<Result>(
        of message: Message, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result?

    /// The message runs soon, or next but a few (`isNear`): starts to load what its stages will look up.
    func prepare(_ message: Message, isNear: Bool)

    /// Runs the messages together. The step of each is taken once, or never.
    mutating func begin(_ turns: [MessageTurn<Message>], now: Instant)

    /// The step of the message with this index. If it has ended, it stays current until the next `takeStep`, `resume` or
    /// `wakeUp`.
    mutating func takeStep(_ index: Int, of message: MessageTurn<Message>, now: Instant) -> ChainStep

    /// The bytes that a suspended entry takes in addition to those of its message.
    func byteCount(ofSuspended entry: Int) -> Int

    /// Entries whose stage has ended on the pool, perhaps in an earlier use of the entry: `resume` finds out.
    mutating func takeStageResults(into entries: inout [Int])

    /// Continues a suspended entry whose stage has ended; nil if the result is stale and nothing is to be done.
    mutating func resume(entry: Int, now: Instant) -> ChainStep?

    /// The wake-up of a suspended entry is due: abandons its stage, unless it is too early for that. If `isLate`, the
    /// message leaves as if its deadline had passed.
    mutating func wakeUp(entry: Int, now: Instant, isLate: Bool) -> ChainStep

    /// Drops a suspended entry; its stage is canceled.
    mutating func abandon(entry: Int)

    /// Publishes the current output under this tag.
    mutating func publish(tag: UInt64) -> PublishAnswer

    /// The current output, in memory of its own.
    mutating func holdCurrent() -> Output

    mutating func publish(_ output: Output, tag: UInt64) -> PublishAnswer

    /// Publishes a changelog record to exactly that partition. A nil value is a tombstone.
    mutating func publishChange(
        partition: Int32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, timestamp: Int64, tag: UInt64
    ) -> PublishAnswer

    /// Replaces the current output, which was refused for good, with a dead letter; if it already was one, with one
    /// that only names the message. With `isCounted` the letter says that its badge was counted.
    mutating func refuseCurrent(reason: String, isCounted: Bool)

    /// The same for a message that was released: the original is read from the log again, or only named if the log does
    /// not hold it. Returned by `takeLetters`.
    mutating func ask(for letter: LetterRequest)

    /// Dead letters that were asked for.
    mutating func takeLetters() -> [(tag: UInt64, output: Output)]

    /// Delivery reports that arrived since the last call.
    mutating func takeReports(into reports: inout [OutputReport<Output>])

    /// Purges what is queued; it is reported as `purged`. With `all` also what is in flight, which brokers may have
    /// stored.
    mutating func purge(all: Bool)

    /// The producer will never take an output again.
    var hasProducerFailed: Bool { get }

    /// Creates another producer in its place. False if that fails: the caller tries again.
    mutating func replaceProducer() -> Bool

    /// Sends what is queued without waiting for batches to fill.
    mutating func flush()

    /// One step of a transaction. Waits for the brokers' answer up to a bound.
    mutating func transact(_ step: TransactionStep) -> TransactionResult

    /// Reads exactly these changelog partitions from now on; `Position.beginning` stands for the whole log.
    mutating func replicate(_ starts: [RecordPosition])

    /// Takes up to `limit` records and end markers, in order.
    mutating func takeReplica(limit: Int, _ body: (ChangelogEvent) -> Void)

    /// True if everything else is there that the partition needs before it is read, such as its contacts.
    mutating func prepare(_ partition: TopicPartition) -> Bool

    /// Releases what the partitions needed: this shard has given them up.
    mutating func forget(_ partitions: [TopicPartition])

    /// The file that keeps the accounts of one partition. `openDisk` starts a lost or unreadable file from scratch.
    associatedtype Disk: CountDisk
    mutating func openDisk(_ partition: TopicPartition) -> Disk

    /// How often the shard was told to end since the last call. The first time: finish within the grace period. The
    /// second: leave at once. The third: end, whatever still hangs.
    mutating func takeTerminations() -> Int

    /// Reports news for the log. Never called for each message.
    mutating func tell(_ news: ShardNews)
}

/// A message whose turn has come.
package struct MessageTurn<Message> {
    package let message: Message
    package let entry: UInt32
    /// Since when it has waited; if nil, it gets only last-chance edits.
    package let taken: Instant?
    /// The count of its account.
    package let count: Int32?
    /// The count already includes the message, and is shown unchanged.
    package let isCounted: Bool

    package init(_ message: Message, entry: UInt32, taken: Instant?, count: Int32?, isCounted: Bool) {
        self.message = message
        self.entry = entry
        self.taken = taken
        self.count = count
        self.isCounted = isCounted
    }
}

package protocol LentMessage {
    /// The number of its topic, by `ShardPorts.number`.
    var topic: UInt32 { get }
    var partition: Int32 { get }
    var offset: Int64 { get }
    /// Milliseconds since 1970; -1 for none.
    var timestamp: Int64 { get }
    var byteCount: Int { get }
    /// The size of the headers, which `byteCount` does not include. Slow to compute.
    var headerByteCount: Int { get }
}

package enum ChainStep {
    /// The operation is what the message does to its account's count.
    case ended(Verdict.Destination, BadgeOperation? = nil)
    /// A stage runs on the pool; the message's bytes were copied. The caller calls `wakeUp` at that time.
    case suspended(until: Instant)
}

package enum PublishAnswer: Sendable, Equatable {
    case queued
    /// Not now: there is no room, or the state of the producer or its topic does not allow it.
    case later
    /// Never.
    case refused(reason: String)
}

/// Asks for the dead letter of a message that was released.
package struct LetterRequest: Sendable {
    package let source: Position
    package let timestamp: Int64
    package let tag: UInt64
    package let reason: String
    package let isNameOnly: Bool
    package let isCounted: Bool
}

/// The delivery report of one output or changelog record.
package struct OutputReport<Output: Sendable> {
    package typealias Failure = OutputDelivery.Failure

    package let tag: UInt64
    /// The offset at which it was stored, if brokers reported it; -1 otherwise.
    package let offset: Int64
    private let result: Result

    private enum Result {
        case stored
        /// Rare, and indirect so that its contents are not copied with each report.
        indirect case unstored(Failure, Output?)
    }

    package init(tag: UInt64, offset: Int64 = -1) {
        self.tag = tag
        self.offset = offset
        result = .stored
    }

    package init(tag: UInt64, failure: Failure, returned: Output? = nil) {
        self.tag = tag
        offset = -1
        result = .unstored(failure, returned)
    }

    package var failure: Failure? { if case .unstored(let failure, _) = result { failure } else { nil } }

    /// The output that was not stored; nil for a changelog record.
    package var returned: Output? { if case .unstored(_, let returned) = result { returned } else { nil } }
}

/// What an operator should know.
package enum ShardNews: Sendable, Equatable {
    case assigned([TopicPartition])
    case revoked([TopicPartition])
    case lost([TopicPartition])
    case reading([TopicPartition])
    case givenBack([TopicPartition])
    /// The drain has exceeded its bound: this many entries are left to the next owner.
    case drainTooLong(unfinished: Int)
    case foreignCommit(Position, reason: String)
    /// A newer release wrote the commit: its partition waits for an instance that can read it.
    case newerCommit(Position, reason: String)
    case logMadeAnew(TopicPartition, offset: Int64)
    case logExpired(TopicPartition, from: Int64, to: Int64)
    /// A broker rejects an offset as out of range although the log holds it.
    case offsetDenied(TopicPartition, offset: Int64)
    case offsetMissing(TopicPartition)
    /// Intake pauses: what is done beyond a hanging message does not fit into a commit, or too many wait behind one.
    case windowFull(TopicPartition, offset: Int64)
    /// Messages leave early, because too many wait for the stage of another of their recipient.
    case recipientsHurried(count: Int, first: Position)
    case metadataCut(TopicPartition, leftOut: Int)
    case commitFailed(reason: String)
    case transactionAborted(reason: String)
    case transactionsTakenOver
    case producerReplaced(reason: String)
    case outputsReturned(reason: String)
    case outputsGoOn
    case outputRefused(TopicPartition, offset: Int64, reason: String)
    case changelogRefused(reason: String)
    case changelogNotARecord(RecordPosition, reason: String)
    /// A newer release wrote the record: the partition waits as well.
    case changelogNewer(RecordPosition, reason: String)
    case changelogAnew(partition: Int32)
    case changelogHeldUp(partition: Int32, offset: Int64)
    case restoring([Int32])
    case restored([Int32], records: Int)
    /// The partition's counts are restored from the changelog.
    case diskFailed(TopicPartition)
    /// What was to be written stays in memory, and is written later.
    case diskNotWritten(TopicPartition)
    case wasAway(Duration)
    /// The committed offsets of this member's partitions are asked for again.
    case memberIDChanged
    case confirmed
    case ending(inFlight: Int)
    case leftUnfinished(Int)
    case notLeftInTime
}
