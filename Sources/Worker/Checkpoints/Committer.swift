import Engine
import Kafka
import Push
import Stores
import Telemetry

/// The thread that writes checkpoints and asks the group for what it has committed: whatever blocks on the network. With
/// transactions, of which commits are part, it only asks.
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
    private static let endPatience: Int32 = 5000

    let requests = Mailbox<Request>()
    private let consumer: Consumer
    private let flow: Flow
    private let checkpoint: any Checkpoint
    private let interval: Duration
    private let isAskingOnly: Bool
    /// Where a partition begins of which nothing is committed.
    private let reset: OffsetReset
    private let knowsStarts: Bool
    private let metrics: ServiceMetrics
    private let log: Log
    private let tell: @Sendable (PollerMessage) -> Void

    init(
        consumer: Consumer, flow: Flow, checkpoint: any Checkpoint, settings: WorkerSettings, knowsStarts: Bool,
        metrics: ServiceMetrics, log: Log, tell: @escaping @Sendable (PollerMessage) -> Void
    ) {
        self.consumer = consumer
        self.flow = flow
        self.checkpoint = checkpoint
        interval = settings.checkpointInterval
        isAskingOnly = settings.isTransactional
        reset = OffsetReset(settings.consumer["auto.offset.reset"])
        self.knowsStarts = knowsStarts
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
            return tell(.cannotGoOn(error))
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
                    tell(.commitEnded(commit(slots, channel), attempt: attempt))
                case .commitAll: tell(.lastCommitEnded(commit(nil, channel)))
                case .stop: return
                }
            }
            batch.removeAll(keepingCapacity: true)
            let now = TimeSource.system.now
            if now >= due {
                if !isAskingOnly { _ = commit(nil, channel) }
                due = TimeSource.system.now + interval
                for request in unanswered { requests.post(request) }
                unanswered.removeAll()
            }
        }
    }

    /// False when it has to be done again.
    private func read(_ places: [TopicPartition], _ number: Int) -> Bool {
        guard flow.isSettled(places) else { return false }
        do {
            let committed = places.isEmpty ? [] : try consumer.committed(places, milliseconds: Self.readPatience)
            if let failure = committed.lazy.compactMap(\.error).first { throw failure }
            let starts = try checkpoint.restore(committed.map(\.position), unsaved: flow.unsavedPosition) { place in
                try consumer.watermarks(of: place, milliseconds: Self.endPatience).high
            }
            tell(.positionsRead(places, number: number, try starts.map(begin)))
        } catch {
            log.warning("where partitions go on could not be read, trying again", [.error(error)])
            return false
        }
        return true
    }

    /// A partition that waits before it is read, or may have to go back to where it began, must know that.
    private func begin(_ start: PartitionStart) throws(KafkaError) -> PartitionStart {
        guard start.offset < 0 else { return start }
        guard knowsStarts else { return PartitionStart(start.place, offset: reset.position) }
        let marks = try consumer.watermarks(of: start.place, milliseconds: Self.endPatience)
        return PartitionStart(start.place, offset: try reset.offset(between: marks.low, and: marks.high))
    }

    private func commit(_ slots: [PartitionSlot]?, _ channel: CommitChannel) -> CommitOutcome {
        let begin = TimeSource.system.now
        let cut = flow.cut(slots)
        let marks = cut.marks
        guard save(cut.batch) else { return .retry }
        guard !marks.isEmpty else { return .accepted }
        guard !consumer.isJoining else { return .retry }
        let positions = marks.map(\.position)
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

    /// False if the counts could not be written: then nothing is to be committed, nor counted.
    private func save(_ batch: consuming CheckpointBatch) -> Bool {
        guard !batch.isEmpty else {
            flow.putBack(batch)
            return true
        }
        do {
            let number = try checkpoint.save(batch)
            flow.saved(batch, in: number)
            checkpoint.counts?.wrote(true)
            return true
        } catch {
            flow.putBack(batch)
            metrics.checkpointFailures.add()
            checkpoint.counts?.wrote(false)
            log.error("the checkpoint could not be written: nothing is counted or committed", [.error(error)])
            return false
        }
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
