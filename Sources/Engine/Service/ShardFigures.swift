package import PushmillKafka
import PushmillStages
import PushmillTelemetry
import Synchronization

/// A shard's figures for other threads: a copy.
package struct ShardFigures: Sendable {
    package struct PartitionFigures: Sendable {
        package let id: TopicPartition
        /// `Partition.beganAt`.
        let beganAt: Instant
        /// The next offset to be taken; nil before it is served.
        package let next: Int64?
        /// Taken and not done.
        package let inFlight: Int
        /// Nothing is taken of it for now.
        package let isPaused: Bool
        /// The timestamp of the oldest record in flight, in milliseconds since 1970.
        package let oldest: Int64?
        /// The timestamp of the last record taken, in milliseconds since 1970.
        package let lastTaken: Int64?
        /// Reading goes on from what was fetched last.
        package let isFetched: Bool
        /// Its counts, or whatever else it needs, are being restored; or its counts will be once its start is known.
        package let isRestoring: Bool
        /// It has waited long to be read, and not for a restore.
        package let isUnserved: Bool
        /// The changelog has taken none of its counts for long, whatever it takes of other partitions.
        let isUncounted: Bool

        private static let patience = Duration.seconds(15)

        init<Ports: ShardPorts & ~Copyable>(
            _ partition: borrowing Partition<Ports>, oldest: Int64?, canTake: Bool, counts: Bool = false, now: Instant
        ) {
            id = partition.id
            beganAt = partition.beganAt
            next = partition.isServed ? partition.ledger.next : nil
            inFlight = partition.ledger.inFlight
            isFetched = partition.state == .running
            isPaused = isFetched ? !canTake : partition.isServed
            self.oldest = oldest
            lastTaken = partition.timestamp > 0 ? partition.timestamp : nil
            let isAsking = partition.isBeginning && partition.state != .restoring
            let isOverdue = now >= partition.beganAt + Self.patience
            isRestoring = partition.state == .restoring || counts && isAsking && !isOverdue
            isUnserved = isAsking && isOverdue
            isUncounted = partition.changes.isLate(now, after: KafkaPorts.answerPatience)
        }
    }

    /// Messages whose output or count is not acknowledged.
    package var inFlight = 0
    package var inFlightBytes = 0
    /// With transactions: the transactional id has been taken over.
    package var isInitialized = true
    package var canPublish = true
    /// Dead letters wait to be sent.
    var areLettersHeld = false
    package var hasRoom = true
    package var partitions: [PartitionFigures] = []

    // From the shard's Kafka clients.
    /// The group has given this member an assignment, if only an empty one, and has not dropped it since.
    package var hasJoined = false
    /// What the consumer said last, if it has no assignment since.
    var consumerError: String?
    /// Why brokers refuse the consumer's connections, if it has no assignment.
    var connectionError: KafkaError?
    /// This member has been joining for longer than a rebalance takes, and has no assignment yet.
    var isGroupLate = false
    /// False while brokers acknowledge nothing that was published, or complete no transaction step.
    package var isAnswered = true
    /// Why nothing is committed, if it is known.
    var refusal: String?
    /// An upper bound of the changelog records left to restore.
    package var restoreLeft: Int64 = 0
    package var consumed: StatisticsInbox?
    package var produced: StatisticsInbox?

    init() {}

    init<Ports: ShardPorts & ~Copyable>(_ shard: borrowing Shard<Ports>) {
        // At least once a message whose output is acknowledged still waits for its count.
        inFlight = shard.entries.count + (shard.settings.isTransactional ? 0 : shard.changesUnstored)
        inFlightBytes = shard.entries.byteCount
        isInitialized = shard.checkpoint.isInitialized
        canPublish = shard.retries.outputs.isIdle && shard.mayPublish
        areLettersHeld = !shard.retries.letters.isIdle
        hasRoom = shard.hasRoom
        let canTake = shard.canRun && hasRoom
        let oldest = shard.oldestInFlight
        for index in shard.partitions.indices where shard.partitions[index].state != .gone {
            partitions.append(
                PartitionFigures(
                    shard.partitions[index], oldest: oldest[Int(index)], canTake: canTake,
                    counts: shard.settings.counts, now: shard.now))
        }
    }

    package var restoring: Int { partitions.count { $0.isRestoring } }
}

extension [ShardFigures] {
    /// Shows each partition once: a shard that is told late of a loss still shows a partition that another shard has.
    /// The shard that got it last counts.
    var withoutLost: [ShardFigures] {
        var owners: [TopicPartition: (shard: Int, beganAt: Instant)] = [:]
        for (shard, figures) in enumerated() {
            for partition in figures.partitions where partition.beganAt >= owners[partition.id]?.beganAt ?? .past {
                owners[partition.id] = (shard, partition.beganAt)
            }
        }
        return enumerated().map { shard, figures in
            var figures = figures
            figures.partitions.removeAll { owners[$0.id]?.shard != shard }
            return figures
        }
    }
}

extension Shard where Ports: ~Copyable {
    /// The timestamp of each partition's oldest record in flight, by its number. Records published in an open
    /// transaction count: nobody can read them yet. Searched for now and then, so that messages need no bookkeeping.
    fileprivate var oldestInFlight: [Int64?] {
        var oldest = partitions.indices.map { partitions[$0].transactionStart }
        var left = entries.count
        var entry: UInt32 = 0
        while left > 0 {
            entry += 1
            guard entries[entry].state != .free else { continue }
            left -= 1
            let index = entries[entry].partition
            guard entries[entry].epoch == partitions[index].epoch else { continue }
            oldest[Int(index)] = min(oldest[Int(index)] ?? .max, time(of: entry))
        }
        for index in partitions.indices {
            guard let timestamp = partitions[index].changes.timestamp, timestamp > 0 else { continue }
            oldest[Int(index)] = min(oldest[Int(index)] ?? .max, timestamp)
        }
        return oldest
    }

    /// The record's timestamp. Without one, it is as old as its taking, less the time in which no message could run.
    func time(of entry: UInt32) -> Int64 {
        if entries[entry].timestamp > 0 { return entries[entry].timestamp }
        return ports.wallClock - Int64(clamping: now.nanoseconds(since: entries[entry].taken) / 1_000_000)
    }
}

extension KafkaPorts {
    /// Nanoseconds without an answer to any output or to a transaction step, after which readiness says so.
    static let answerPatience: UInt64 = 5_000_000_000
    /// Allowed beyond the session timeout of a dead member and the drain of one that gives partitions back.
    private static let groupPatience = Duration.seconds(10)

    private var isGroupLate: Bool {
        guard let since = consumer.joinsSince else { return false }
        let patience = settings.shard.sessionTimeout + settings.shard.drain + Self.groupPatience
        return now >= Instant(nanoseconds: since) + patience
    }

    mutating func addClients(to figures: inout ShardFigures) {
        figures.hasJoined = hasJoined
        figures.consumerError = consumerError?.description
        figures.isGroupLate = isGroupLate
        if !hasJoined || isGroupLate { figures.connectionError = consumer.refusal }
        let isWaiting = awaitsAnswer || !figures.canPublish
        lettersHeldSince = figures.areLettersHeld ? lettersHeldSince ?? now : nil
        let refusal = refusal?.isCurrent(now) ?? false ? refusal : nil
        figures.refusal = turnedAway.first?.reason ?? refusal?.reason
        let isStuck = [stuckSince, lettersHeldSince, refusal?.since].contains { since in
            since.map { now.nanoseconds(since: $0) >= Self.answerPatience } ?? false
        }
        figures.isAnswered = !isStuck && (!isWaiting || now.nanoseconds(since: lastAnswer) < Self.answerPatience)
        figures.restoreLeft = reader?.left ?? 0
        figures.consumed = consumer.statistics
        figures.produced = producer.statistics
    }
}

/// Why nothing is committed: the changelog takes no counts, or each transaction fails.
struct Refusal {
    /// What fails is tried again within that time, also if a producer has to be replaced for it.
    private static let patience = Duration.seconds(20)

    let since: Instant
    private let last: Instant
    let reason: String

    init(_ reason: String, _ now: Instant, after former: Refusal?) {
        since = former.flatMap { $0.isCurrent(now) ? $0.since : nil } ?? now
        last = now
        self.reason = reason
    }

    /// Nothing may have been tried since: then it says nothing.
    func isCurrent(_ now: Instant) -> Bool { now < last + Self.patience }
}

/// Logs what keeps a shard from going on: a group or brokers that do not answer, or a lack of room.
struct Pressure {
    private static let patience = Duration.seconds(1)

    private var isGroupLate = false
    private var isAnswered = true
    private var isFull = false
    /// The sum of the partitions' next offsets when it last changed.
    private var taken: Int64 = 0
    private var movedAt = Instant.past

    mutating func tell(_ figures: ShardFigures, _ now: Instant, _ log: Log) {
        if figures.isGroupLate != isGroupLate {
            isGroupLate = figures.isGroupLate
            if isGroupLate {
                log.warning("the group does not answer, waiting")
            } else {
                log.info("the group answered")
            }
        }
        if figures.isAnswered != isAnswered {
            isAnswered = figures.isAnswered
            if isAnswered {
                log.info("outputs are acknowledged again")
            } else {
                log.error("outputs are waiting: no broker acknowledges them", [.count(figures.inFlight)])
            }
        }
        let taken = figures.partitions.reduce(0) { $0 &+ ($1.next ?? 0) }
        if taken != self.taken || figures.hasRoom {
            (self.taken, movedAt) = (taken, now)
            if isFull, figures.hasRoom {
                isFull = false
                log.info("intake resumed")
            }
        } else if !isFull, now >= movedAt + Self.patience {
            // A shard that catches up is always full: that is logged only if nothing moves.
            isFull = true
            log.warning("too much is in flight: intake is paused", [.count(figures.inFlight)])
        }
    }
}

/// The figures of one shard. Its thread writes them, about every 200 ms at most; any thread reads them.
final class FigureBox: Sendable {
    /// Making figures takes 0.1 ms at most, with all 10,000 entries in flight and none of them in a cache.
    private static let interval = Duration.milliseconds(200)

    private let shown = Mutex(ShardFigures())
    /// When the current turn began, in nanoseconds; 0 between turns.
    private let turn = Atomic<UInt64>(0)
    private let next = Atomic<UInt64>(0)
    /// The nanoseconds of all turns that have ended.
    private let worked = Atomic<UInt64>(0)

    func begin(_ now: Instant) { turn.store(now.nanoseconds, ordering: .relaxed) }

    /// True if figures are due.
    func end(_ now: Instant) -> Bool {
        let began = Instant(nanoseconds: turn.exchange(0, ordering: .relaxed))
        worked.store(worked.load(ordering: .relaxed) &+ now.nanoseconds(since: began), ordering: .relaxed)
        guard now.nanoseconds >= next.load(ordering: .relaxed) else { return false }
        next.store((now + Self.interval).nanoseconds, ordering: .relaxed)
        return true
    }

    func show(_ figures: ShardFigures) { shown.withLock { $0 = figures } }

    var seconds: Double { Double(worked.load(ordering: .relaxed)) / 1e9 }

    var figures: ShardFigures { shown.withLock { $0 } }

    /// How long the current turn has taken: a stage that claims to be immediate may block it.
    func busy(_ now: Instant) -> Duration {
        let begin = turn.load(ordering: .relaxed)
        return begin == 0 ? .zero : .nanoseconds(Int64(clamping: now.nanoseconds(since: Instant(nanoseconds: begin))))
    }
}
