import Push
import Synchronization
import Telemetry

/// The thread that publishes messages whose deadline has come while a stage holds their lane's thread.
final class Watchdog: Sendable {
    /// How late such a message may leave.
    private static let period = Duration.milliseconds(20)

    private let lanes: [Lane]
    private let chain: Chain
    private let outputs: Outputs
    private let flow: Flow
    private let metrics: MetricsShard
    private let log: Log
    private let stop = Mailbox<Void>()

    init(lanes: [Lane], chain: Chain, outputs: Outputs, flow: Flow, metrics: MetricsShard, log: Log) {
        self.lanes = lanes
        self.chain = chain
        self.outputs = outputs
        self.flow = flow
        self.metrics = metrics
        self.log = log
    }

    func end() { stop.post(()) }

    /// The thread's life: ends with `end`.
    func serve() {
        // What leaves here leaves behind what its lane holds.
        let publishers = lanes.map {
            Publisher(outputs: outputs, flow: flow, chain: chain, metrics: metrics, held: $0.held, log: log)
        }
        var ended: [Void] = []
        /// By lane. They go on with the next message of the key when what was published is on its way.
        var left = [[Carrier]](repeating: [], count: lanes.count)
        while ended.isEmpty {
            let now = TimeSource.system.now
            for (number, lane) in lanes.enumerated() {
                let publisher = publishers[number]
                for carrier in lane.watch.overdue(now) {
                    guard let verdict = chain.expireFromOutside(carrier.delivery, now: now) else { continue }
                    log.error(
                        "a stage has blocked its lane beyond the deadline: a message leaves without it",
                        [.lane(number), .source("\(carrier.delivery.record.source)")])
                    publisher.publish(verdict, of: carrier, now)
                    left[number].append(carrier)
                }
                publisher.publishHeld()
                _ = publisher.settle()
                guard !lane.held.hasOrdered else { continue }
                for carrier in left[number] { lane.executor.mailbox.post(.left(carrier)) }
                left[number].removeAll()
            }
            stop.take(into: &ended, until: now + Self.period)
        }
    }
}
