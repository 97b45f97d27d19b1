import Kafka
package import Push
package import Telemetry

/// Moves records from the input topics through the chain to the output, loses none, and keeps the order of each key.
package final class Worker: Sendable {
    package let status = WorkerStatus()
    private let threads: [Thread]
    private let messages = Mailbox<PollerMessage>()
    private let watches: [LaneWatch]
    private let end: @Sendable () -> Void

    /// Joins the group and works until `terminate`.
    package init(
        _ settings: WorkerSettings, chain: Chain, checkpoint: any Checkpoint, metrics: ServiceMetrics, log: Log,
        statistics: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let (messages, status) = (messages, status)
        let onKafkaLog: KafkaLogSink = { level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
        let onRoom: @Sendable () -> Void = { messages.post(.room) }
        let producer = try Producer(settings.producer, log: onKafkaLog, statistics: statistics)
        let outputs = try Outputs(producer, output: settings.output, deadLetters: settings.deadLetters)
        let consumer = try Consumer(settings.consumer, log: onKafkaLog, statistics: statistics)
        let flow = Flow(limit: settings.maxInFlight, byteLimit: settings.maxInFlightBytes)
        let topics = InputTopics()

        let lanes = (0..<settings.lanes).map { index in
            Lane(
                chain: chain, publisher: Publisher(outputs: outputs, flow: flow, log: log), topics: topics,
                metrics: metrics.shard(index), time: .system, onRoom: onRoom)
        }
        watches = lanes.map(\.watch)
        let resending = Resending(
            outputs: outputs, flow: flow, chain: chain, settings: settings, log: log, onKafkaLog: onKafkaLog,
            onRoom: onRoom)
        let refusals = Refusals(sending: resending, log: log)
        let acknowledger = Acknowledger(
            outputs: outputs, flow: flow, refusals: refusals, metrics: metrics, status: status, shard: settings.lanes,
            onRoom: onRoom)
        let watchdog = Watchdog(lanes: watches, chain: chain, outputs: outputs, flow: flow, log: log)
        let committer = Committer(
            consumer: consumer, flow: flow, checkpoint: checkpoint, interval: settings.checkpointInterval,
            metrics: metrics, log: log, tell: { messages.post($0) })
        let mailboxes = lanes.map(\.executor.mailbox)

        try consumer.subscribe(to: settings.input)
        var threads = try lanes.map { lane in try Thread { lane.serve() } }
        threads.append(try Thread { acknowledger.serve() })
        threads.append(try Thread { refusals.serve() })
        threads.append(try Thread { watchdog.serve() })
        threads.append(try Thread { committer.serve() })
        threads.append(
            try Thread {
                Poller(
                    consumer: consumer, flow: flow, committer: committer.requests, outputs: outputs, topics: topics,
                    lanes: mailboxes, messages: messages, settings: settings, metrics: metrics, log: log,
                    status: status
                ).serve()
            })
        self.threads = threads
        end = {
            watchdog.end()
            for mailbox in mailboxes { mailbox.post(.stop) }
            committer.requests.post(.stop)
            refusals.stop()
            acknowledger.stop()
        }
    }

    /// Begins to end: finishes what is in flight within the grace. Again: at once.
    package func terminate() { messages.post(.terminate) }

    /// Returns when the group has been left and every thread has ended.
    package func wait() {
        threads[threads.count - 1].join()
        end()
        for thread in threads.dropLast() { thread.join() }
    }

    /// The longest time that a lane's thread has been at one thing: a stage may block it.
    package var longestBusy: Duration {
        let now = TimeSource.system.now
        return watches.map { $0.busy(now) }.max() ?? .zero
    }
}

extension LogLevel {
    fileprivate init(syslog level: Int32) {
        self =
            switch level {
            case ...3: .error
            case 4: .warning
            case 5, 6: .info
            default: .debug
            }
    }
}
