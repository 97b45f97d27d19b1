import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTelemetry

extension KafkaPorts {
    mutating func tell(_ news: ShardNews) {
        var news = news
        switch news {
        case .transactionAborted(let reason):
            let failure = producer.takeTransactionFailure()
            // A new producer does not know why the one before it was refused.
            let known = refusal.flatMap { $0.isCurrent(now) ? $0.reason : nil }
            refusal = Refusal(failure ?? known ?? reason, now, after: refusal)
            news = .transactionAborted(reason: failure ?? reason)
        case .producerReplaced(let reason) where settings.shard.isTransactional:
            let reason = producer.takeTransactionFailure() ?? reason
            refusal = Refusal(reason, now, after: refusal)
            news = .producerReplaced(reason: reason)
        case .changelogRefused(let reason):
            refusal = Refusal("\(settings.changelog ?? ""): \(reason)", now, after: refusal)
        default: break
        }
        environment.tell(news, changelog: settings.changelog ?? "", of: settings.changelogPartitions)
    }
}

/// Tells operators the news, as log lines and metrics.
extension EngineEnvironment {
    /// `known` is how many partitions the changelog had when the service started.
    func tell(_ news: ShardNews, changelog topic: String, of known: Int?) {
        let stage = counting
        switch news {
        case .assigned(let partitions):
            // Every rebalance reports an assignment, mostly an empty one.
            guard !partitions.isEmpty else { break }
            metrics.partitionsAssigned.add(partitions.count)
            log.info("partitions assigned", fields(partitions))
            let added = partitions.filter { $0.partition >= known ?? .max }
            guard !added.isEmpty else { break }
            log.warning(
                "partitions were added to the input: the badge changelog needs as many",
                [.topic(topic)] + fields(added))
        case .revoked(let partitions):
            metrics.partitionsRevoked.add(partitions.count)
            log.info("partitions revoked: finishing their messages", fields(partitions))
        case .lost(let partitions):
            metrics.partitionsLost.add(partitions.count)
            log.warning("partitions lost: dropping their unfinished messages", fields(partitions))
        case .reading(let partitions): log.info("serving partitions", fields(partitions))
        case .givenBack(let partitions): log.info("partitions released", fields(partitions))
        case .drainTooLong(let count):
            log.warning("the drain took too long: leaving unfinished messages to the next owner", [.count(count)])
        case .foreignCommit(let position, let reason):
            log.warning(
                "the committed offset was not set by pushmill: continuing from it",
                fields(position.partition, position.offset) + [.reason(reason)])
        case .newerCommit(let position, let reason):
            log.error(
                "a newer release committed this offset: the partition waits for an instance that can read it",
                fields(position.partition, position.offset) + [.reason(reason)])
        case .logMadeAnew(let partition, let offset):
            log.warning(
                "the offsets of a partition went back: its topic was recreated or truncated; continuing from there",
                fields(partition, offset))
        case .logExpired(let partition, let from, let to):
            log.error(
                "retention deleted records before they were read: at most this many are lost",
                fields(partition, from) + [.count(Int(clamping: to - from))])
        case .offsetDenied(let partition, let offset):
            log.warning(
                "a broker denied an offset that the log holds: asking again",
                fields(partition, offset))
        case .offsetMissing(let partition):
            log.error(
                "a partition has no committed offset and auto.offset.reset is error: it waits",
                [.topic(partition.topic), .partition(partition.partition)])
        case .windowFull(let partition, let offset):
            log.warning(
                "a message hangs with too many others behind it: intake from its partition is paused",
                fields(partition, offset))
        case .recipientsHurried(let count, let first):
            log.warning(
                "too many messages wait for one of their recipient: they leave as if it were their deadline",
                [.count(count), .source("\(first.partition)/\(first.offset)")])
        case .metadataCut(let partition, let count):
            log.warning(
                "not every finished record fits into the commit: a crash now would repeat the rest",
                [.topic(partition.topic), .partition(partition.partition), .count(count)])
        case .commitFailed(let reason):
            metrics.checkpointFailures.add()
            log.warning("offsets were not committed", [.reason(reason)])
        case .transactionAborted(let reason):
            metrics.checkpointFailures.add()
            metrics.transactionsAborted.add()
            log.warning("a transaction was aborted: going back to the last commit", [.error(text: reason)])
        case .transactionsTakenOver: log.info("took over the transactional id")
        case .producerReplaced(let reason):
            log.warning("a producer has failed: replacing it", [.error(text: reason)])
        case .outputsReturned(let reason):
            metrics.outputsReturned.add()
            log.warning("outputs were not stored: sending them again in order", [.reason(reason)])
        case .outputsGoOn: log.info("outputs no longer wait")
        case .outputRefused(let partition, let offset, let reason):
            log.error(
                "the brokers refused an output: it becomes a dead letter",
                [.source("\(partition)/\(offset)"), .error(text: reason)])
        case .changelogRefused(let reason):
            log.error(
                "the badge changelog does not accept counts: nothing is committed", stage + [.error(text: reason)])
        case .changelogNotARecord(let position, let reason):
            log.warning(
                "a record of the badge changelog is invalid",
                stage + [.topic(topic), .partition(position.partition), .offset(position.offset), .reason(reason)])
        case .changelogNewer(let position, let reason):
            log.error(
                "a newer release wrote these counts: the partition waits for an instance that can read them",
                stage + [.topic(topic), .partition(position.partition), .offset(position.offset), .reason(reason)])
        case .changelogAnew(let partition):
            log.warning(
                "the badge changelog was recreated or truncated: reading its counts again",
                stage + [.topic(topic), .partition(partition)])
        case .changelogHeldUp(let partition, let offset):
            log.info(
                "waiting for the end of the badge changelog: a transaction is open",
                stage + [.topic(topic), .partition(partition), .offset(offset)])
        case .restoring(let numbers):
            log.info(
                "restoring badge counts from the changelog",
                stage + fields(numbers.map { TopicPartition(topic, $0) }))
        case .restored(let numbers, let records):
            let partitions = numbers.map { TopicPartition(topic, $0) }
            log.info(
                "badge counts restored",
                stage + [.topic(topic), .partitions(partitions.summary), .count(records)])
        case .diskFailed(let partition):
            metrics.checkpointFailures.add()
            log.error(
                "cannot use the file of a partition's counts: restoring the counts from the changelog",
                stage + [.topic(partition.topic), .partition(partition.partition)])
        case .diskNotWritten(let partition):
            metrics.checkpointFailures.add()
            log.error(
                "cannot write the file of a partition's counts: they stay in memory, trying again",
                stage + [.topic(partition.topic), .partition(partition.partition)])
        case .memberIDChanged:
            log.warning("the group had lost this member: asking for its committed offsets again")
        case .wasAway(let time):
            log.warning(
                "this process was frozen: nothing is published until the group confirms this member",
                [.seconds(time / .seconds(1))])
        case .confirmed: log.info("the group confirmed this member")
        case .ending(let count):
            log.info("shutting down: intake stops, messages in flight are finished", [.count(count)])
        case .leftUnfinished(let count):
            log.warning("no time left to finish: leaving unfinished messages to the next owner", [.count(count)])
        case .notLeftInTime: log.warning("could not leave the group in time")
        }
    }

    /// Logs what a partition's count file reports.
    func tell(_ news: CountFile.News, of partition: TopicPartition) {
        switch news {
        case .setAside(let path, let reason):
            log.warning(
                "a file of badge counts was set aside: restoring the counts from the changelog",
                counting + [.path(path), .error(text: reason)])
        case .failed(let error):
            log.error(
                "cannot use a file of badge counts", counting + [.partition(partition.partition), .error(error)])
        }
    }

    func fields(_ partitions: [TopicPartition]) -> [LogField] {
        [.count(partitions.count), .partitions(partitions.summary)]
    }

    private func fields(_ partition: TopicPartition, _ offset: Int64) -> [LogField] {
        [.topic(partition.topic), .partition(partition.partition), .offset(offset)]
    }
}

extension [TopicPartition] {
    /// `topic/0-3,7`: many partitions in one field.
    package var summary: String {
        Dictionary(grouping: self, by: \.topic).sorted { $0.key < $1.key }.map { topic, partitions in
            let ranges = RangeSet(partitions.map { Int($0.partition)..<Int($0.partition) + 1 }).ranges
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
