package import PushmillKafka
package import PushmillPayload
package import PushmillStages
package import PushmillStores

/// Everything outside that a shard speaks to, for its own thread alone. `KafkaPorts` are the real ones; the simulation has
/// others. No call waits, but for `wait` and the steps of transactions, which have a bound.
package protocol ShardPorts: ~Copyable {
    associatedtype Message: LentMessage
    /// An output with bytes of its own, that can be sent later.
    associatedtype Output: Sendable

    /// The monotonic clock.
    var now: Instant { get }
    /// Milliseconds since 1970.
    var wallClock: Int64 { get }

    /// Returns at that time, or as soon as there may be news: a record (not while `records` is false), an event, a report,
    /// a stage that has ended, a command.
    mutating func wait(until time: Instant, records: Bool)

    /// The group's events, and answers to what was asked, in their order.
    mutating func takeEvents() -> [ConsumerEvent]

    /// Answers `ConsumerEvent.assigned`: nothing is read of them before `read`.
    mutating func acceptAssignment()

    /// Reads a partition that was assigned, from this very offset or an end of the log (`Position.beginning`, `.end`).
    mutating func read(_ positions: [Position])

    /// Reads nothing of it before the next `read`.
    mutating func stop(_ partition: TopicPartition)

    /// Answers `revoked` and `lost`: nothing of them is read any more.
    mutating func giveBack(_ partitions: [TopicPartition])

    /// Reads on from there. What was fetched is dropped. False when that is not certain: to be asked for again.
    mutating func seek(to position: Position) -> Bool

    /// Answered by `ConsumerEvent.committed`. An answer may never come: it is to be asked for again after a while.
    mutating func askCommitted(_ partitions: [TopicPartition])

    /// What the log holds; answered by `ConsumerEvent.range`, or never.
    mutating func askRange(_ partition: TopicPartition)

    /// Answered by `ConsumerEvent.commitEnded` of that number, or never.
    mutating func commit(_ positions: [Position], number: UInt32)

    /// The group is being joined anew: a commit would come with a generation that has passed, or by a name that the shard does
    /// not know yet.
    var isJoining: Bool { get }

    /// Begins to leave the group; `hasLeft` tells when it is done.
    mutating func leave()
    var hasLeft: Bool { get }

    /// The next record that was fetched; nil when there is none. To be given to `release` once, unless `begin` suspends it.
    mutating func nextMessage() -> Message?

    mutating func release(_ message: Message)

    /// The message with memory of its own, for one that may wait for long.
    mutating func own(_ message: Message) -> Message

    /// The number under which records of this topic come.
    mutating func number(ofTopic topic: String) -> UInt32

    /// A hash of what orders the message: its recipient; nil where it is nobody's. With a key of this process's own.
    mutating func orderHash(_ message: Message) -> UInt64?

    /// Whose count the message may change, as the changelog's key; nil where nobody's.
    mutating func withAccount<Result>(
        of message: Message, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result?

    /// The message's turn comes soon: what will be looked up for it may be loaded meanwhile.
    func prepare(_ message: Message)

    /// The message's turn, for which it has waited since `taken`. `count` is its account's, which has the message in it
    /// already if it `isCounted`: then it is shown and not changed. What has ended is current until the next call of
    /// this kind.
    mutating func begin(
        _ message: Message, entry: Int, taken: Instant, now: Instant, count: Int32?, isCounted: Bool
    ) -> ChainStep

    /// The bytes that a suspended entry keeps beside its message's.
    func byteCount(ofSuspended entry: Int) -> Int

    /// Entries whose stage has ended on the pool. They may be of an earlier use of the entry: `resume` knows.
    mutating func takeStageResults(into entries: inout [Int])

    /// The stage of a suspended entry has ended; nil where its result is late, and nothing is to be done.
    mutating func resume(entry: Int, now: Instant) -> ChainStep?

    /// The wake-up of a suspended entry has come: its stage is abandoned, or this is too early for that.
    mutating func expire(entry: Int, now: Instant) -> ChainStep

    /// Nothing is to come of a suspended entry any more.
    mutating func abandon(entry: Int)

    /// Publishes what is current, under this tag.
    mutating func publish(tag: UInt64) -> PublishStep

    /// The current output, in memory of its own.
    mutating func holdCurrent() -> Output

    mutating func publish(_ output: Output, tag: UInt64) -> PublishStep

    /// A record of the changelog: to that very partition. A nil value is a tombstone.
    mutating func publishChange(
        partition: Int32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, timestamp: Int64, tag: UInt64
    ) -> PublishStep

    /// What is current becomes the dead letter of its message, since its output was refused for good. Where even that was a
    /// dead letter it only names its message. One that `isCounted` says that its badge was counted.
    mutating func refuseCurrent(reason: String, isCounted: Bool)

    /// The same where the message is gone: the original is read from the log again, or only named where it is not there.
    /// Answered in `takeLetters`.
    mutating func ask(for letter: LetterRequest)

    /// Dead letters that were asked for.
    mutating func takeLetters() -> [(tag: UInt64, output: Output)]

    /// Reports of what was published since the last call.
    mutating func takeReports(into reports: inout [OutputReport<Output>])

    /// Takes back what is not on its way yet; it is reported as `purged`. `all`: also what is on its way, of which it is
    /// then not known whether it is stored.
    mutating func purge(all: Bool)

    /// The producer will never take an output again.
    var hasProducerFailed: Bool { get }

    /// Makes another producer in its place. False when that fails: to be tried again.
    mutating func replaceProducer() -> Bool

    /// Sends at once what waits for its batch.
    mutating func flush()

    /// One step of a transaction. Waits for the brokers' answer up to a bound.
    mutating func transact(_ step: TransactionStep) -> TransactionResult

    /// Reads exactly these partitions of the changelog from now on; `Position.beginning` for all there is.
    mutating func replicate(_ starts: [RecordPosition])

    /// Up to `limit` records and ends, in their order.
    mutating func takeReplica(limit: Int, _ body: (ChangelogEvent) -> Void)

    /// Something else that partitions need before they are read (contacts that come with them): true when it is there.
    mutating func prepare(_ partition: TopicPartition) -> Bool

    /// They went to others.
    mutating func forget(_ partitions: [TopicPartition])

    /// Partitions of which accounts are kept on disk: opens the file of one. Lost or unreadable files are begun anew.
    associatedtype Disk: CountDisk
    mutating func openDisk(_ partition: TopicPartition) -> Disk

    /// How often the shard was told to end since the last call. The first: finish within the grace. The second: at once. The
    /// third: whatever still hangs.
    mutating func takeTerminations() -> Int

    /// For the log. Never called for each message.
    mutating func tell(_ news: ShardNews)
}

package protocol LentMessage {
    /// The number of its topic, by `ShardPorts.number`.
    var topic: UInt32 { get }
    var partition: Int32 { get }
    var offset: Int64 { get }
    /// Milliseconds since 1970; -1 for none.
    var timestamp: Int64 { get }
    var byteCount: Int { get }
    /// Beside that. Takes time.
    var headerByteCount: Int { get }
}

package enum ChainStep {
    /// With what the message does to its account's count.
    case ended(Verdict.Destination, BadgeOperation? = nil)
    /// A stage runs on the pool; the message's bytes were copied. `expire` is to be called then.
    case suspended(until: Instant)
}

package enum PublishStep: Sendable, Equatable {
    case queued
    /// Not now: there is no room, or the producer or its topic is in no state to take it.
    case later
    /// Never.
    case refused(reason: String)
}

/// A message that is gone, of which a dead letter is to be made.
package struct LetterRequest: Sendable {
    package let source: Position
    package let timestamp: Int64
    package let tag: UInt64
    package let reason: String
    package let isNameOnly: Bool
    package let isCounted: Bool
}

/// What became of one thing published.
package struct OutputReport<Output: Sendable> {
    package typealias Failure = OutputDelivery.Failure

    package let tag: UInt64
    /// Where it was stored, as far as brokers tell; -1 otherwise.
    package let offset: Int64
    private let result: Result

    private enum Result {
        case stored
        /// Few are, and what is in it is not copied with them.
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

    /// With a failure: the output, but for a record of the changelog.
    package var returned: Output? { if case .unstored(_, let returned) = result { returned } else { nil } }
}

package enum TransactionStep: Sendable, Equatable {
    /// Takes over the name of the transactions, and ends what another has left open under it.
    case initialize
    case begin
    /// Makes these part of the transaction, by the group's metadata of this moment.
    case addOffsets([Position])
    case commit
    case abort
}

/// What an operator should know.
package enum ShardNews: Sendable, Equatable {
    case assigned([TopicPartition])
    case revoked([TopicPartition])
    case lost([TopicPartition])
    case reading([TopicPartition])
    case givenBack([TopicPartition])
    /// The bound of a drain has passed: so many entries are left to the next owner.
    case drainTooLong(unfinished: Int)
    case foreignCommit(Position, reason: String)
    /// A newer release wrote it: its partition waits for an instance that can read it.
    case newerCommit(Position, reason: String)
    case logMadeAnew(TopicPartition, offset: Int64)
    case logExpired(TopicPartition, from: Int64, to: Int64)
    /// A broker denies an offset that the log holds.
    case offsetDenied(TopicPartition, offset: Int64)
    case offsetMissing(TopicPartition)
    /// Intake from it waits: what is done beyond one that hangs would not fit into a commit, or too many wait behind one.
    case windowFull(TopicPartition, offset: Int64)
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
    /// A newer release wrote it: the partition waits as well.
    case changelogNewer(RecordPosition, reason: String)
    case changelogAnew(partition: Int32)
    case changelogHeldUp(partition: Int32, offset: Int64)
    case restoring([Int32])
    case restored([Int32], records: Int)
    case diskFailed(TopicPartition)
    case wasAway(Duration)
    /// The group has this member by another name: what is its own is asked for anew.
    case renamed
    case confirmed
    case ending(inFlight: Int)
    case leftUnfinished(Int)
    case notLeftInTime
}
