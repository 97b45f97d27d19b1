package import PushmillKafka

/// What is not finished of a partition.
package struct Backlog: Sendable, Equatable {
    package let place: TopicPartition
    /// Not taken yet, and in flight; nil while that is not known.
    package let records: Int64?
    /// How old the oldest of them is, by its timestamp; 0 where there is none.
    package let seconds: Double
}

/// Tells backlogs from what shards, and their consumers, show. The times of what is in flight are known. A record that was
/// not taken yet is no older than the last one taken, nor than the moment at which nothing was left to take; while the end
/// of a log is not known, or its broker not reached, there may be such records. Of a partition that is not served it is
/// only known since when it is here, or how old its oldest record was while it was served: what has come since waits.
struct BacklogWatch {
    private struct Seen {
        /// When it was first here; where it was served since, the time of what was its oldest record then.
        var since: Int64
        /// When nothing was left to take.
        var caughtUp: Int64?
    }

    private var seen: [TopicPartition: Seen] = [:]

    /// Of all partitions. `now` is in milliseconds since 1970.
    mutating func look(
        _ partitions: [(figures: ShardFigures.PartitionFigures, log: ClientStatistics.Partition?)], now: Int64
    ) -> [Backlog] {
        var seen: [TopicPartition: Seen] = [:]
        let backlogs = partitions.map { figures, log -> Backlog in
            var before = self.seen[figures.place] ?? Seen(since: now)
            // Where the clock was set back meanwhile, waiting would be no age until it is past these times again.
            before.since = min(before.since, now)
            before.caughtUp = before.caughtUp.map { min($0, now) }
            guard let next = figures.next else {
                seen[figures.place] = before
                return Backlog(place: figures.place, records: nil, seconds: Self.seconds(from: before.since, to: now))
            }
            let left = log.flatMap { $0.end < 0 ? nil : Self.left(next, $0, isFetched: figures.isFetched) }
            // A fetch that is refused, as where the topic may not be read any more, comes without an end.
            let isUnknown = log.map { $0.end < 0 || !$0.isReached } ?? false
            let mayHaveMore = isUnknown || left ?? 0 > 0
            if left == 0, !mayHaveMore { before.caughtUp = now }
            let oldest = figures.oldest ?? (mayHaveMore ? Self.oldestLeft(figures, before) : now)
            if left != nil || figures.oldest != nil { before.since = min(oldest, now) }
            seen[figures.place] = before
            return Backlog(
                place: figures.place, records: left.map { $0 + Int64(figures.inFlight) },
                seconds: Self.seconds(from: oldest, to: now))
        }
        self.seen = seen
        return backlogs.sorted { ($0.place.topic, $0.place.partition) < ($1.place.topic, $1.place.partition) }
    }

    /// Records have any timestamps.
    private static func seconds(from time: Int64, to now: Int64) -> Double {
        let (age, isOver) = now.subtractingReportingOverflow(time)
        return isOver ? 0 : Double(max(0, age)) / 1000
    }

    /// Where all that was fetched is taken, what lies before the next fetch is no record of ours; but where it was dropped
    /// it is fetched again.
    private static func left(_ next: Int64, _ log: ClientStatistics.Partition, isFetched: Bool) -> Int64 {
        max(0, log.end - (isFetched && log.fetched == 0 ? max(next, log.nextOffset) : next))
    }

    private static func oldestLeft(_ figures: ShardFigures.PartitionFigures, _ seen: Seen) -> Int64 {
        guard let taken = figures.lastTaken else { return seen.since }
        return max(taken, seen.caughtUp ?? taken)
    }
}
