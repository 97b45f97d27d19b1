import Kafka
package import Push
package import Telemetry

/// Moves records from the input topics through the chain to the output, loses none, and keeps the order of each key.
package final class Worker: Sendable {
    package let status: WorkerStatus
    package let figures: WorkerFigures
    /// How long threads have to end that have nothing to do any more.
    private static let patience = Duration.seconds(2)

    private let consumer: Consumer
    private let poller: Thread
    private let others: [Thread]
    /// One for each of the others that has ended.
    private let ended = Mailbox<Void>()
    private let log: Log
    private let messages = Mailbox<PollerMessage>()
    private let watches: [LaneWatch]
    private let end: @Sendable () -> Void

    /// Joins the group, once the contacts are there unless they come with its partitions, and works until `terminate`.
    package init(
        _ settings: WorkerSettings, chain: Chain, checkpoint: any Checkpoint, contacts: ContactFollower? = nil,
        changelog: Changelog? = nil, metrics: ServiceMetrics, log: Log
    ) throws {
        let messages = messages
        let status = WorkerStatus(
            contacts: contacts?.progress, restores: changelog?.progress, counts: checkpoint.counts,
            isTransactional: settings.isTransactional)
        self.status = status
        let onKafkaLog: KafkaLogSink = { level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
        let onRoom: @Sendable () -> Void = { messages.post(.room) }
        let producer = try Producer(settings.producer, log: onKafkaLog)
        let outputs = try Outputs(
            producer, output: settings.output, deadLetters: settings.deadLetters,
            limit: settings.maxInFlight,
            transactions: settings.isTransactional ? OutputTransactions() : nil)
        let consumer = try Consumer(settings.consumer, log: onKafkaLog)
        self.consumer = consumer
        let flow = Flow(
            limit: settings.maxInFlight, byteLimit: settings.maxInFlightBytes, counts: checkpoint.counts != nil)
        let topics = InputTopics()
        figures = WorkerFigures(consumer: consumer, producer: producer, flow: flow)

        let lanes = try (0..<settings.lanes).map { index in
            Lane(
                chain: chain,
                publisher: Publisher(
                    outputs: outputs, flow: flow, chain: chain, metrics: metrics.shard(index), log: log),
                counts: try checkpoint.counts?.lane(of: settings.lanes), topics: topics, time: .system, onRoom: onRoom)
        }
        let (acknowledgerShard, watchdogShard, refusalsShard) = (settings.lanes, settings.lanes + 1, settings.lanes + 2)
        watches = lanes.map(\.watch)
        let refusals = Refusals(outputs: outputs, log: log) {
            Resending(
                outputs: outputs, flow: flow, chain: chain, settings: settings,
                metrics: metrics.shard(refusalsShard), log: log, onKafkaLog: onKafkaLog, onRoom: onRoom)
        }
        let acknowledger = Acknowledger(
            outputs: outputs, flow: flow, refusals: refusals, metrics: metrics, status: status, log: log,
            shard: acknowledgerShard, onRoom: onRoom, onFailure: { messages.post(.cannotGoOn($0)) })
        let watchdog = Watchdog(
            lanes: lanes, chain: chain, outputs: outputs, flow: flow, metrics: metrics.shard(watchdogShard), log: log)
        let coPartitioned = contacts.flatMap { $0.isCoPartitioned ? $0 : nil }
        let committer = Committer(
            consumer: consumer, flow: flow, checkpoint: checkpoint, settings: settings,
            knowsStarts: settings.isTransactional || coPartitioned != nil, metrics: metrics, log: log,
            tell: { messages.post($0) })
        let mailboxes = lanes.map(\.executor.mailbox)

        var works = lanes.enumerated().map { index, lane -> (name: String, serve: @Sendable () -> Void) in
            ("lane \(index)", { lane.serve() })
        }
        works.append((name: "acknowledger", serve: { acknowledger.serve() }))
        works.append((name: "refusals", serve: { refusals.serve() }))
        works.append((name: "watchdog", serve: { watchdog.serve() }))
        works.append((name: "committer", serve: { committer.serve() }))
        if let transactions = outputs.transactions {
            let hearing = Hearing(settings, onKafkaLog: onKafkaLog)
            let writing = try changelog.map { ChangelogRecords($0, try producer.topic($0.topic), transactions) }
            let transact: @Sendable () -> Void = {
                Transactor(
                    consumer: consumer, outputs: outputs, transactions: transactions, flow: flow, hearing: hearing,
                    changelog: writing, lanes: mailboxes, interval: settings.checkpointInterval, metrics: metrics,
                    status: status, log: log, tell: { messages.post($0) }
                ).serve()
                // Whatever ends a transaction waits for reports.
                acknowledger.stop()
            }
            works.append((name: "transactor", serve: transact))
        }
        others = try works.map { [ended] work in
            try Thread(named: work.name) {
                work.serve()
                ended.post(())
            }
        }
        poller = try Thread(named: "poller") {
            Poller(
                consumer: consumer, flow: flow, committer: committer.requests, outputs: outputs, topics: topics,
                changelog: changelog, contacts: coPartitioned, lanes: mailboxes, messages: messages, settings: settings,
                metrics: metrics, log: log, status: status
            ).serve()
        }
        self.log = log
        end = {
            watchdog.end()
            for mailbox in mailboxes { mailbox.post(.stop) }
            committer.requests.post(.stop)
            refusals.stop()
            guard let transactions = outputs.transactions else { return acknowledger.stop() }
            transactions.requests.post(.stop)
        }
    }

    /// Threads that count for every message: the lanes, and three more.
    package static func shards(lanes: Int) -> Int { lanes + 3 }

    /// Begins to end: finishes what is in flight within the grace. Again: at once.
    package func terminate() {
        messages.post(.terminate)
        consumer.wake()
    }

    /// Returns when the group has been left and every thread has ended, but for those that hang: a stage may hold its
    /// lane's, and only the end of the process ends it.
    package func wait() {
        poller.join()
        end()
        let limit = TimeSource.system.now + Self.patience
        var count = 0
        var batch: [Void] = []
        while count < others.count {
            ended.take(into: &batch, until: limit)
            guard !batch.isEmpty else {
                return log.warning("ending without threads that hang", [.count(others.count - count)])
            }
            count += batch.count
            batch.removeAll(keepingCapacity: true)
        }
        for thread in others { thread.join() }
    }

    /// The longest time that a lane's thread has been at one thing: a stage may block it.
    package var longestBusy: Duration {
        let now = TimeSource.system.now
        return watches.map { $0.busy(now) }.max() ?? .zero
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
