import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTelemetry

extension KafkaPorts {
    mutating func tell(_ news: ShardNews) {
        if case .diskFailed(let place) = news { tellDisk(of: place) }
        environment.tell(news, changelog: settings.changelog ?? "")
    }
}

/// Tells operators the news, as log lines and metrics.
extension EngineEnvironment {
    func tell(_ news: ShardNews, changelog topic: String) {
        let stage = counting
        switch news {
        case .assigned(let places):
            // Every rebalance reports an assignment, mostly an empty one.
            guard !places.isEmpty else { break }
            metrics.partitionsAssigned.add(places.count)
            log.info("partitions assigned", fields(places))
        case .revoked(let places):
            metrics.partitionsRevoked.add(places.count)
            log.info("partitions revoked: finishing them", fields(places))
        case .lost(let places):
            metrics.partitionsLost.add(places.count)
            log.warning("partitions lost: what is unfinished of them is dropped", fields(places))
        case .reading(let places): log.info("partitions are read", fields(places))
        case .givenBack(let places): log.info("partitions given back", fields(places))
        case .drainTooLong(let count):
            log.warning("the drain has taken too long: what is unfinished is left to the next owner", [.count(count)])
        case .foreignCommit(let position, let reason):
            log.warning(
                "the committed offset was not set by pushmill and is obeyed",
                fields(position.partition, position.offset) + [.reason(reason)])
        case .newerCommit(let position, let reason):
            log.error(
                "a newer release has committed the offset: its partition waits for an instance that can read it",
                fields(position.partition, position.offset) + [.reason(reason)])
        case .logMadeAnew(let place, let offset):
            log.warning(
                "the offsets of a partition have gone back: its topic was made anew or cut; going on from there",
                fields(place, offset))
        case .logExpired(let place, let from, let to):
            log.error(
                "the log no longer holds what was to be read: at most so many records are lost to its retention",
                [.topic(place.topic), .partition(place.partition), .offset(from), .count(Int(clamping: to - from))])
        case .offsetDenied(let place, let offset):
            log.warning(
                "a broker has denied an offset that the log holds: asking for it again",
                fields(place, offset))
        case .offsetMissing(let place):
            log.error(
                "nothing is committed of a partition, and auto.offset.reset asks for an error then: it waits",
                [.topic(place.topic), .partition(place.partition)])
        case .windowFull(let place, let offset):
            log.warning(
                "a message hangs with too many others behind it: intake from its partition waits",
                fields(place, offset))
        case .metadataCut(let place, let count):
            log.warning(
                "not every finished record fits into the commit: a crash now would repeat some",
                [.topic(place.topic), .partition(place.partition), .count(count)])
        case .commitFailed(let reason):
            metrics.checkpointFailures.add()
            log.warning("offsets were not committed", [.reason(reason)])
        case .transactionAborted(let reason):
            metrics.checkpointFailures.add()
            metrics.transactionsAborted.add()
            log.warning("a transaction is aborted: going back to the last commit", [.error(text: reason)])
        case .transactionsTakenOver: log.info("the name of the transactions is taken over")
        case .producerReplaced(let reason):
            log.warning("another producer takes the place of one that has failed", [.error(text: reason)])
        case .outputsReturned(let reason):
            metrics.outputsReturned.add()
            log.warning("outputs were not stored: they are sent again, in their order", [.reason(reason)])
        case .outputsGoOn: log.info("outputs do not wait any more")
        case .outputRefused(let place, let offset, let reason):
            log.error(
                "the brokers have refused an output for good: it becomes a dead letter",
                [.source("\(place)/\(offset)"), .error(text: reason)])
        case .changelogRefused(let reason):
            log.error("the badge changelog does not take counts: nothing is committed", stage + [.error(text: reason)])
        case .changelogNotARecord(let position, let reason):
            log.warning(
                "a record of the badge changelog is none",
                stage + [.topic(topic), .partition(position.partition), .offset(position.offset), .reason(reason)])
        case .changelogNewer(let position, let reason):
            log.error(
                "a newer release has written counts: their partition waits for an instance that can read them",
                stage + [.topic(topic), .partition(position.partition), .offset(position.offset), .reason(reason)])
        case .changelogAnew(let partition):
            log.warning(
                "the badge changelog is not what it was: its counts are read anew",
                stage + [.topic(topic), .partition(partition)])
        case .changelogHeldUp(let partition, let offset):
            log.info(
                "the end of the badge changelog is awaited: a transaction is open",
                stage + [.topic(topic), .partition(partition), .offset(offset)])
        case .restoring(let numbers):
            log.info(
                "badge counts are read from their changelog",
                stage + fields(numbers.map { TopicPartition(topic, $0) }))
        case .restored(let numbers, let records):
            let places = numbers.map { TopicPartition(topic, $0) }
            log.info(
                "badge counts are restored",
                stage + [.topic(topic), .partitions(places.summary), .count(records)])
        case .diskFailed(let place):
            metrics.checkpointFailures.add()
            log.error(
                "the file of a partition's counts cannot be used: they are restored from the changelog",
                stage + [.topic(place.topic), .partition(place.partition)])
        case .renamed:
            log.warning("the group had lost this member: how far its partitions are is asked for anew")
        case .wasAway(let time):
            log.warning(
                "this process did not run for long: nothing is published before the group has confirmed it",
                [.seconds(time / .seconds(1))])
        case .confirmed: log.info("the group has confirmed this member")
        case .ending(let count): log.info("ending: intake stops, what is in flight is finished", [.count(count)])
        case .leftUnfinished(let count):
            log.warning("the time to finish is over: what is unfinished is left to the next owner", [.count(count)])
        case .notLeftInTime: log.warning("the group could not be told in time that this member leaves it")
        }
    }

    func fields(_ places: [TopicPartition]) -> [LogField] {
        [.count(places.count), .partitions(places.summary)]
    }

    private func fields(_ place: TopicPartition, _ offset: Int64) -> [LogField] {
        [.topic(place.topic), .partition(place.partition), .offset(offset)]
    }
}

extension [TopicPartition] {
    /// `topic/0-3,7`: many partitions in one field.
    package var summary: String {
        Dictionary(grouping: self, by: \.topic).sorted { $0.key < $1.key }.map { topic, places in
            let ranges = RangeSet(places.map { Int($0.partition)..<Int($0.partition) + 1 }).ranges
            let text = ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound - 1)" }
            return "\(topic)/\(text.joined(separator: ","))"
        }.joined(separator: " ")
    }
}

extension LogLevel {
    init(syslog level: Int32) {
        self =
            switch level {
            case ...3: .error
            case 4: .warning
            case 5, 6: .info
            default: .debug
            }
    }
}
