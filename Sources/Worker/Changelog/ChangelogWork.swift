import Push
import Stores
import Telemetry

/// The changelog's thread: restores partitions batch by batch, and writes what is committed in between.
struct ChangelogWork {
    /// After a failure.
    private static let pause = Duration.seconds(1)

    private let counts: CountKeeper
    private let requests: Mailbox<ChangelogRequest>
    private let metrics: ServiceMetrics
    private let log: Log
    private var reading: ChangelogReading
    private var writing: ChangelogWriting
    private var isEnding = false
    private var nextAttempt = Instant.past

    init(
        _ reading: ChangelogReading, _ writing: ChangelogWriting, _ counts: CountKeeper,
        _ requests: Mailbox<ChangelogRequest>, metrics: ServiceMetrics, log: Log
    ) {
        self.reading = reading
        self.writing = writing
        self.counts = counts
        self.requests = requests
        self.metrics = metrics
        self.log = log
    }

    /// The thread's life.
    mutating func serve(_ store: borrowing ChangelogCounts) {
        var batch: [ChangelogRequest] = []
        while !isEnding {
            requests.take(into: &batch, until: reading.isIdle ? writing.due : min(nextAttempt, writing.due))
            for request in batch { handle(request, store) }
            batch.removeAll(keepingCapacity: true)
            let now = TimeSource.system.now
            if writing.due <= now || isEnding { write(to: store) }
            if !reading.isIdle, nextAttempt <= now, !isEnding { readOn(store) }
        }
    }

    private mutating func handle(_ request: ChangelogRequest, _ store: borrowing ChangelogCounts) {
        switch request {
        case .restore(let partitions, let whenWhole):
            settle(partitions, store)
            reading.add(partitions, whenWhole)
        case .release(let partitions):
            settle(partitions, store)
            reading.remove(partitions)
            for partition in partitions { counts.end(partition) }
        case .committed(let changes, let last, let number):
            writing.add(changes, last, number: number)
        case .stop:
            isEnding = true
        }
    }

    /// The store has what was committed of them so far, or reads it from the changelog when they come again.
    private mutating func settle(_ partitions: [Int32], _ store: borrowing ChangelogCounts) {
        write(to: store)
        writing.forget(partitions)
    }

    private mutating func write(to store: borrowing ChangelogCounts) {
        do throws(StoreError) {
            try writing.write(to: store)
            counts.wrote(true)
        } catch {
            counts.wrote(false)
            metrics.checkpointFailures.add()
            log.error("counts that were committed cannot be written, trying again", [.error(error)])
        }
    }

    private mutating func readOn(_ store: borrowing ChangelogCounts) {
        do {
            for (partition, tell) in try reading.readOn(store) {
                counts.begin(partition)
                writing.serve(partition)
                tell(partition)
            }
        } catch {
            log.error("badge counts cannot be restored, trying again", [.error(error)])
            reading.reset()
            nextAttempt = TimeSource.system.now + Self.pause
        }
    }
}
