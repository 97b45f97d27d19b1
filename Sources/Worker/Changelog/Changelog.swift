package import Kafka
package import Stores
import Synchronization
package import Telemetry

/// Keeps the embedded store's counts those of the changelog's partitions that are served here, on a thread of its own:
/// restores them when they come, and writes what was committed. Everything but `stop` returns at once.
///
/// Order for a partition: read the group's committed offsets, once they are stable; `restore`; serve it when that says so;
/// publish `CountChanges.forEachRecord` in each transaction and tell `committed` after its commit; commit or abort what is
/// left; `release`.
package final class Changelog: Sendable {
    /// What lanes share with this; counts of a partition are in it from the end of its restore to its release.
    package let counts: CountKeeper
    let progress: RestoreProgress
    let topic: String
    private let requests = Mailbox<ChangelogRequest>()
    private let commits = Mutex<UInt32>(0)
    private let thread: Thread

    /// `properties` are a consumer's. Nothing else may change these counts: the state file is this process's alone.
    /// Partitions that have more than a `turn` to read are restored one after the other.
    package init(
        _ properties: ClientProperties, topic: String, of cluster: String, into state: StateFile,
        turn: Int = ChangelogBatch.usualSize, metrics: ServiceMetrics, log: Log
    ) throws {
        let folding = JournalProgress()
        let progress = RestoreProgress(topic: topic, metrics: metrics)
        let counts = CountKeeper(state, progress: folding, perPartition: true, log: log)
        let requests = requests
        // How it gets to the thread, which holds it for life.
        let store = Mutex(try ChangelogCounts(state, topic: topic, cluster: cluster))
        thread = try Thread(named: "changelog") {
            store.withLock { store in
                var work = ChangelogWork(
                    ChangelogReading(properties, topic: topic, turn: turn, progress, log: log),
                    ChangelogWriting(folding), counts, requests, metrics: metrics, log: log)
                work.serve(store)
            }
        }
        self.counts = counts
        self.topic = topic
        self.progress = progress
    }

    /// Reads the partitions' changelogs from where the store has them to their ends. `whenWhole` is called on the
    /// changelog's thread for each of them, when its state is whole; never for one that was released before.
    ///
    /// It may take minutes. The group must not wait for that with its next rebalance: assign the partition at once, paused.
    package func restore(_ partitions: [Int32], whenWhole: @escaping @Sendable (Int32) -> Void) {
        requests.post(.restore(partitions, whenWhole))
    }

    /// The partitions go to others: call it when their last commit has been made or aborted. A restore that is under way
    /// ends; lanes count nothing of them any more, and no batch has anything of them.
    package func release(_ partitions: [Int32]) {
        for partition in partitions { counts.end(partition) }
        requests.post(.release(partitions))
    }

    /// The transaction with these changes was committed. `last` are the last records that it has in the changelog's
    /// partitions, as far as delivery reports have told offsets, each with the timestamp it was published with: where a
    /// restart reads on. Gives the checkpoint's number, for `Flow.saved`.
    package func committed(_ changes: CountChanges, last: [RecordPosition]) -> UInt32 {
        commits.withLock { number in
            number &+= 1
            // Within the lock, so that they come in the order of their numbers.
            requests.post(.committed(changes, last, number: number))
            return number
        }
    }

    /// Returns when the thread has ended and the store has everything that was committed. Once.
    package func stop() {
        requests.post(.stop)
        thread.join()
    }
}

/// What the changelog's thread is asked for.
enum ChangelogRequest: Sendable {
    case restore([Int32], @Sendable (Int32) -> Void)
    case release([Int32])
    case committed(CountChanges, [RecordPosition], number: UInt32)
    case stop
}
