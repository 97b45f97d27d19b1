import Glibc
import Kafka
import Push
import Synchronization
import Telemetry

/// The thread that polls the producer: acknowledged outputs complete their records, the others go to `Refusals`, or fail
/// their transaction.
final class Acknowledger: Sendable {
    /// Nanoseconds without an answer to anything published, after which readiness says so.
    private static let patience: UInt64 = 5_000_000_000
    /// Microseconds.
    private static let gathering: UInt32 = 3000

    private let outputs: Outputs
    private let flow: Flow
    private let refusals: Refusals
    private let metrics: ServiceMetrics
    private let status: WorkerStatus
    private let log: Log
    private let shard: Int
    private let onRoom: @Sendable () -> Void
    private let onFailure: @Sendable (KafkaError) -> Void
    private let isStopping = Atomic<Bool>(false)

    init(
        outputs: Outputs, flow: Flow, refusals: Refusals, metrics: ServiceMetrics, status: WorkerStatus, log: Log,
        shard: Int, onRoom: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (KafkaError) -> Void
    ) {
        self.outputs = outputs
        self.flow = flow
        self.refusals = refusals
        self.metrics = metrics
        self.status = status
        self.log = log
        self.shard = shard
        self.onRoom = onRoom
        self.onFailure = onFailure
    }

    func stop() {
        isStopping.store(true, ordering: .relaxed)
        outputs.producer.wake()
    }

    /// The thread's life: ends with `stop`.
    func serve() {
        let counters = metrics.shard(shard)
        var reports: [DeliveryReport] = []
        var done: [InFlightTable.Ticket] = []
        /// Published in a transaction that comes to nothing.
        var undone: [InFlightTable.Ticket] = []
        var lastProgress = TimeSource.system.now
        while !isStopping.load(ordering: .relaxed) {
            outputs.producer.poll(milliseconds: 100, into: &reports)
            let time = TimeSource.system.now
            // Reports can be ahead of the lanes, which count what they have published once a turn.
            if !reports.isEmpty || outputs.waiting <= 0 && !outputs.areRefused { lastProgress = time }
            tell(time.nanoseconds(since: lastProgress) < Self.patience)
            if let failure { onFailure(failure) }
            guard !reports.isEmpty else { continue }
            let now = SystemTime.milliseconds
            /// Records of the changelog.
            var changes = 0
            for report in reports {
                let tag = DeliveryTag(rawValue: report.opaque)
                if let transactions = outputs.transactions, let partition = tag.changelogPartition {
                    transactions.answer(report, changelogPartition: partition)
                    changes += 1
                } else if let returned = report.returned, let transactions = outputs.transactions {
                    let origin = flow.origin(of: tag.ticket)?.position
                    transactions.fail(returned, tag, of: origin, outputs.times[tag.ticket])
                    undone.append(tag.ticket)
                } else if let returned = report.returned {
                    refusals.take(returned, tag, timestamp: outputs.times[tag.ticket])
                } else {
                    count(tag, outputs.times[tag.ticket], now, counters)
                    done.append(tag.ticket)
                }
            }
            outputs.reported(reports.count - changes)
            if flow.complete(done) { onRoom() }
            done.removeAll(keepingCapacity: true)
            if let transactions = outputs.transactions {
                flow.abandon(undone)
                undone.removeAll(keepingCapacity: true)
                transactions.answered(reports.count)
                // Someone waits for the rest.
                if transactions.gate.isClosed { continue }
            }
            // Acknowledgements come in drops: gathered for a moment they cost one wake-up instead of many. What waits is
            // only the commit.
            usleep(Self.gathering)
        }
    }

    /// The producer will never take an output again. With transactions the `Transactor` sees to that.
    private var failure: KafkaError? {
        outputs.transactions == nil && outputs.areRefused ? outputs.producer.fatalError : nil
    }

    /// Whether what is published is acknowledged.
    private func tell(_ works: Bool) {
        guard status.publishing(works) else { return }
        if works {
            log.info("outputs are acknowledged again")
        } else {
            log.error("outputs wait: no broker acknowledges them", [.count(outputs.waiting)])
        }
    }

    private func count(_ tag: DeliveryTag, _ timestamp: Int64, _ now: Int64, _ counters: MetricsShard) {
        if let reason = tag.reason {
            counters.deadLetters[reason.rawValue].add()
        }
        counters.published[(tag.outcome ?? .deadLetter).rawValue].add()
        let took = now.subtractingReportingOverflow(timestamp).partialValue
        counters.endToEndSeconds.observe(nanoseconds: took.multipliedReportingOverflow(by: 1_000_000).partialValue)
    }
}
