import Glibc
import PushmillKafka
import PushmillStages
import PushmillTelemetry
import Synchronization

/// The shards of a process, each on its own thread: starts and ends them, and shows their figures.
package final class ShardThreads: Sendable {
    /// How long to wait before replacing a shard that cannot go on.
    private static let restartPause = Duration.seconds(1)
    /// The longest such wait: it doubles for a shard that keeps failing.
    private static let longestPause = Duration.seconds(30)

    /// A shard's figures are no older than this.
    private static let looksEvery = Duration.milliseconds(250)
    /// How long threads have to end beyond the grace.
    private static let patience = Duration.seconds(3)

    private let settings: EngineSettings
    private let environment: EngineEnvironment
    private let inboxes: [ShardInbox]
    private let threads: [Thread]
    private let watch = Mutex(BacklogWatch())
    /// Woken when a thread has ended, and when `limit` changes.
    private let signal = WakeSignal()
    private let limit = Atomic<UInt64>(.max)

    /// Joins the group and works until `terminate`.
    package init(_ settings: EngineSettings, _ environment: EngineEnvironment) throws {
        self.settings = settings
        self.environment = environment
        let shares = settings.shared
        inboxes = (0..<settings.cores).map { ShardInbox(shard: $0) }
        let signal = signal
        threads = try inboxes.map { inbox in
            try Thread(named: "shard \(inbox.shard)") {
                Self.run(shares, environment, inbox)
                inbox.hasEnded.store(true, ordering: .sequentiallyConsistent)
                signal.wake()
            }
        }
    }

    /// Begins the shutdown: messages in flight are finished within the grace. A second call ends at once.
    package func terminate() {
        let bound = (isEnding ? .zero : settings.shard.shutdownGrace) + Self.patience
        limit.store((TimeSource.system.now + bound).nanoseconds, ordering: .sequentiallyConsistent)
        for inbox in inboxes { inbox.postTermination() }
        signal.wake()
    }

    /// Returns when every shard has left its group, except those that hang: a stage may block its shard's thread until
    /// the process ends.
    package func wait() {
        while case let left = inboxes.count(where: { !$0.hasEnded.load(ordering: .sequentiallyConsistent) }), left > 0 {
            let now = TimeSource.system.now
            let limit = Instant(nanoseconds: limit.load(ordering: .sequentiallyConsistent))
            guard now < limit else {
                return environment.log.warning("exiting without threads that hang", [.count(left)])
            }
            signal.wait(nanoseconds: Int64(clamping: min(limit.nanoseconds(since: now), 60_000_000_000)))
        }
        for thread in threads { thread.join() }
    }

    private var isEnding: Bool { inboxes.contains { $0.isEnding } }

    package var figures: [ShardFigures] { inboxes.map(\.shown.figures).withoutLost }

    /// How long each shard has worked rather than waited for news. Waits of transaction steps count as work.
    package var busySeconds: [Double] { inboxes.map(\.shown.seconds) }

    /// The backlog of each partition.
    package var backlogs: [Backlog] {
        let partitions = figures.flatMap { figures in
            let logs = (figures.consumed?.latest?.partitions ?? []).map { ($0.id, $0) }
            let byID = Dictionary(logs) { first, _ in first }
            return figures.partitions.map { ($0, byID[$0.id]) }
        }
        return watch.withLock { $0.look(partitions, now: SystemTime.milliseconds) }
    }

    /// The longest turn under way: a stage that claims to be immediate may block it.
    package var longestTurn: Duration {
        let now = TimeSource.system.now
        return inboxes.map { $0.shown.busy(now) }.max() ?? .zero
    }

    /// Why no traffic should be expected of this instance; empty when it is ready.
    package var reasons: [(word: String, sentence: String)] {
        Self.reasons(
            isEnding: isEnding, figures, contacts: environment.contacts?.reason, counts: settings.changelog != nil)
    }

    static func reasons(
        isEnding: Bool, _ figures: [ShardFigures], contacts: (word: String, sentence: String)?, counts: Bool
    ) -> [(word: String, sentence: String)] {
        var reasons: [(word: String, sentence: String)] = []
        if isEnding { reasons.append(("ending", "the service is shutting down")) }
        let absent = figures.filter { !$0.hasJoined || $0.isGroupLate }
        let refused = absent.lazy.compactMap(\.connectionError).first
        if let refused, refused.isLogin {
            reasons.append(("authentication", "the brokers reject the login: correct sasl.* under kafka (\(refused))"))
        } else if let refused, refused.isTLS {
            reasons.append(("tls", "cannot connect securely: correct ssl.* under kafka, or the brokers (\(refused))"))
        } else if !absent.isEmpty {
            let error = absent.lazy.compactMap(\.consumerError).first
            let sentence = error.map { "the group has not accepted this member: \($0)" }
            reasons.append(("not-joined", sentence ?? "the group has not answered yet"))
        }
        if figures.contains(where: { !$0.isInitialized }) {
            reasons.append(("no-transactions", "the transactional id has not been taken over yet"))
        }
        let uncounted = figures.reduce(0) { $0 + $1.partitions.count { $0.isUncounted } }
        if figures.contains(where: { !$0.canPublish || !$0.isAnswered }) {
            let known = figures.lazy.compactMap(\.refusal).first
            let sentence =
                known.map { "nothing is committed: \($0)" }
                ?? "the brokers do not acknowledge outputs or dead letters, or the group has not confirmed this member"
            reasons.append(("cannot-publish", sentence))
        } else if uncounted > 0 {
            let sentence =
                "the badge changelog takes no counts of \(uncounted) partitions, and nothing of them is committed: it "
                + "needs as many partitions as the input, each with a leader"
            reasons.append(("cannot-publish", sentence))
        }
        if let contacts { reasons.append(contacts) }
        let waiting = figures.reduce(0) { $0 + $1.restoring }
        if waiting > 0, counts {
            let left = figures.reduce(0) { $0 + $1.restoreLeft }
            let known =
                left > 0
                ? "at most \(left) changelog records are left"
                : "if this lasts, the badge changelog has fewer partitions than the input, or some without a leader"
            reasons.append(("restoring-counts", "restoring the counts of \(waiting) partitions: \(known)"))
        }
        let unserved = figures.reduce(0) { $0 + $1.partitions.count { $0.isUnserved } }
        if unserved > 0 {
            let sentence =
                "\(unserved) partitions are not read yet: the brokers return no starting offset, or one that "
                + "this release cannot read"
            reasons.append(("not-served", sentence))
        }
        return reasons
    }

    private static func run(_ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox) {
        var pause = restartPause
        while true {
            let begun = TimeSource.system.now
            // The figures of the shard before this one are void.
            inbox.shown.show(ShardFigures())
            do throws(KafkaError) {
                if try serve(settings, environment, inbox) { return }
            } catch {
                environment.log.error("cannot create a shard, trying again", [.shard(inbox.shard), .error(error)])
            }
            let until = TimeSource.system.now + pause
            while !inbox.isEnding, TimeSource.system.now < until { usleep(100_000) }
            if inbox.isEnding { return }
            // Two members with the same `group.instance.id` fence each other for as long as both live.
            pause = TimeSource.system.now < begun + longestPause * 2 ? min(pause * 2, longestPause) : restartPause
        }
    }

    /// False if its clients have failed for good: another shard takes its place.
    private static func serve(
        _ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox
    ) throws(KafkaError) -> Bool {
        let ports = try KafkaPorts(settings, environment, inbox)
        var shard = Shard(settings.shard, ports: ports)
        var pressure = Pressure()
        while !shard.hasEnded {
            inbox.shown.begin(shard.ports.now)
            let hadJoined = shard.ports.hasJoined
            let next = shard.turn()
            // Readiness must not wait until figures are due.
            if inbox.shown.end(TimeSource.system.now) || hadJoined != shard.ports.hasJoined {
                var figures = shard.figures
                shard.ports.addClients(to: &figures)
                pressure.tell(figures, shard.ports.now, environment.log)
                inbox.shown.show(figures)
            }
            if let error = shard.ports.consumer.fatalError {
                environment.log.error(
                    "the consumer has failed: replacing it", [.shard(inbox.shard), .error(error)])
                // What was done since the last commit will not be committed.
                environment.metrics.checkpointFailures.add()
                // librdkafka's threads do not end until all of their records are given back.
                shard.giveUp()
                return false
            }
            // Nothing wakes the thread of a shard that has ended.
            let limit = shard.hasEnded ? .past : min(next, shard.ports.now + looksEvery)
            shard.ports.wait(until: limit, records: shard.wantsRecords)
        }
        return true
    }
}
