import Kafka
import Push
import Telemetry

/// The thread that writes checkpoints and asks the group for what it has committed: whatever blocks on the network.
final class Committer: Sendable {
    enum Request: Sendable {
        case read([TopicPartition], number: Int)
        /// Partitions that are to be given back.
        case commit([PartitionSlot], attempt: Int)
        /// The last one before the process ends.
        case commitAll
        case stop
    }

    /// Milliseconds for an answer of the group. A commit has less than a drain gives to its commits together.
    private static let readPatience: Int32 = 5000
    private static let commitPatience: Int32 = 1500

    let requests = Mailbox<Request>()
    private let consumer: Consumer
    private let flow: Flow
    private let checkpoint: any Checkpoint
    private let interval: Duration
    private let metrics: ServiceMetrics
    private let log: Log
    private let tell: @Sendable (PollerMessage) -> Void

    init(
        consumer: Consumer, flow: Flow, checkpoint: any Checkpoint, interval: Duration, metrics: ServiceMetrics,
        log: Log, tell: @escaping @Sendable (PollerMessage) -> Void
    ) {
        self.consumer = consumer
        self.flow = flow
        self.checkpoint = checkpoint
        self.interval = interval
        self.metrics = metrics
        self.log = log
        self.tell = tell
    }

    /// The thread's life: ends with `Request.stop`.
    func serve() {
        let channel: CommitChannel
        do throws(KafkaError) {
            channel = try consumer.commits()
        } catch {
            log.error("no offsets can be committed", [.error(error)])
            return
        }
        var due = TimeSource.system.now + interval
        var batch: [Request] = []
        /// To be asked again after the next interval.
        var unanswered: [Request] = []
        while true {
            requests.take(into: &batch, until: due)
            for request in batch {
                switch request {
                case .read(let places, let number):
                    if !read(places, number) { unanswered.append(request) }
                case .commit(let slots, let attempt):
                    tell(.commitEnded(commit(flow.marks(of: slots), channel), attempt: attempt))
                case .commitAll: tell(.lastCommitEnded(commit(flow.marks(), channel)))
                case .stop: return
                }
            }
            batch.removeAll(keepingCapacity: true)
            let now = TimeSource.system.now
            if now >= due {
                _ = commit(flow.marks(), channel)
                due = TimeSource.system.now + interval
                for request in unanswered { requests.post(request) }
                unanswered.removeAll()
            }
        }
    }

    /// False when the group did not answer.
    private func read(_ places: [TopicPartition], _ number: Int) -> Bool {
        do throws(KafkaError) {
            let committed = places.isEmpty ? [] : try consumer.committed(places, milliseconds: Self.readPatience)
            if let failure = committed.lazy.compactMap(\.error).first { throw failure }
            tell(.positionsRead(places, number: number, checkpoint.restore(committed)))
        } catch {
            log.warning("the group's offsets could not be read, trying again", [.error(error)])
            return false
        }
        return true
    }

    private func commit(_ marks: [Flow.Mark], _ channel: CommitChannel) -> CommitOutcome {
        guard !marks.isEmpty else { return .accepted }
        guard !consumer.isJoining else { return .retry }
        let begin = TimeSource.system.now
        let positions = marks.map(\.position)
        do {
            try checkpoint.write(positions)
        } catch {
            metrics.checkpointFailures.add()
            log.error("the checkpoint could not be written, nothing is committed", [.error(error)])
            return .retry
        }
        let outcome = judge(channel.commit(positions, milliseconds: Self.commitPatience), marks)
        let took = TimeSource.system.now.nanoseconds(since: begin)
        metrics.checkpointSeconds.observe(nanoseconds: Int64(clamping: took))
        if case .accepted = outcome {} else { metrics.checkpointFailures.add() }
        for mark in marks where mark.snapshot.leftOut > 0 {
            log.warning(
                "not every finished record fits into the commit: a crash now would repeat some",
                [.topic(mark.place.topic), .partition(mark.place.partition), .count(mark.snapshot.leftOut)])
        }
        return outcome
    }

    private func judge(_ results: [PartitionResult]?, _ marks: [Flow.Mark]) -> CommitOutcome {
        guard let results else {
            log.warning("no answer to a commit of offsets, trying again", [.count(marks.count)])
            return .retry
        }
        let refused = results.filter { $0.error != nil }
        let places = Set(refused.map(\.position.partition))
        flow.committed(marks.filter { !places.contains($0.place) })
        guard let error = refused.lazy.compactMap(\.error).first else { return .accepted }
        log.warning(
            "offsets were not committed",
            [.error(error), .count(refused.count), .partitions(Array(places).summary)])
        return error.isFatal || error.isFenced ? .refused : .retry
    }
}
