package import PushmillKafka

/// The unfinished records of a partition.
package struct Backlog: Sendable, Equatable {
    package let id: TopicPartition
    /// Records not yet taken, and those in flight; nil while unknown.
    package let records: Int64?
    /// The age of the oldest, by its timestamp; 0 if there is none.
    package let seconds: Double
}

/// Derives backlogs from the figures of shards and the statistics of their consumers. Timestamps of records in flight
/// are known. A record not yet taken is no older than the last one taken, nor than the moment when nothing was left to
/// take; there may be such records while a log's end is unknown or its broker unreachable. Of a partition that is not
/// served only its arrival is known, or how old its oldest record was while it was served: what came since waits.
struct BacklogWatch {
    private struct Seen {
        /// When it was first seen; if it was served since, the timestamp of its oldest record then.
        var since: Int64
        /// When nothing was left to take.
        var caughtUp: Int64?
    }

    private var seen: [TopicPartition: Seen] = [:]

    /// The backlogs of all partitions. `now` is in milliseconds since 1970.
    mutating func look(
        _ partitions: [(figures: ShardFigures.PartitionFigures, log: ClientStatistics.Partition?)], now: Int64
    ) -> [Backlog] {
        var seen: [TopicPartition: Seen] = [:]
        let backlogs = partitions.map { figures, log -> Backlog in
            var before = self.seen[figures.id] ?? Seen(since: now)
            // If the clock was set back, ages would be 0 until the clock passes these times again.
            before.since = min(before.since, now)
            before.caughtUp = before.caughtUp.map { min($0, now) }
            guard let next = figures.next else {
                seen[figures.id] = before
                return Backlog(id: figures.id, records: nil, seconds: Self.seconds(from: before.since, to: now))
            }
            let left = log.flatMap { $0.end < 0 ? nil : Self.left(next, $0, isFetched: figures.isFetched) }
            // A refused fetch, as when the topic may not be read any more, comes without an end. What an open transaction
            // hides waits for its end.
            let isUnknown = log.map { $0.end < 0 || !$0.isReached || $0.hidden > 0 } ?? false
            let mayHaveMore = isUnknown || left ?? 0 > 0
            if left == 0, !mayHaveMore { before.caughtUp = now }
            let oldest = figures.oldest ?? (mayHaveMore ? Self.oldestLeft(figures, before) : now)
            if left != nil || figures.oldest != nil { before.since = min(oldest, now) }
            seen[figures.id] = before
            return Backlog(
                id: figures.id, records: left.map { $0 + Int64(figures.inFlight) },
                seconds: Self.seconds(from: oldest, to: now))
        }
        self.seen = seen
        return backlogs.sorted { ($0.id.topic, $0.id.partition) < ($1.id.topic, $1.id.partition) }
    }

    /// Records may have any timestamp.
    private static func seconds(from time: Int64, to now: Int64) -> Double {
        let (age, isOver) = now.subtractingReportingOverflow(time)
        return isOver ? 0 : Double(max(0, age)) / 1000
    }

    /// If everything fetched was taken, offsets before the next fetch hold no records for us. If fetched records were
    /// dropped, they are fetched again.
    private static func left(_ next: Int64, _ log: ClientStatistics.Partition, isFetched: Bool) -> Int64 {
        max(0, log.end - (isFetched && log.fetched == 0 ? max(next, log.nextOffset) : next))
    }

    private static func oldestLeft(_ figures: ShardFigures.PartitionFigures, _ seen: Seen) -> Int64 {
        guard let taken = figures.lastTaken else { return seen.since }
        return max(taken, seen.caughtUp ?? taken)
    }
}
