import Glibc
package import PushmillKafka
import PushmillStages
import Synchronization
import PushmillTelemetry

/// The shards of a process, each on a thread of its own: starts them, ends them, and shows what they publish.
package final class ShardThreads: Sendable {
    /// A shard whose consumer can go on no more is made anew after so long.
    private static let restartPause = Duration.seconds(1)

    /// What a shard shows of itself is no older than this.
    private static let looksEvery = Duration.milliseconds(250)
    /// How long threads have to end beyond the grace.
    private static let patience = Duration.seconds(3)

    let status: EngineStatus
    let contacts: (any PartitionContacts)?
    let counts: Bool
    private let log: Log
    private let grace: Duration
    private let inboxes: [ShardInbox]
    private let threads: [Thread]
    private let boxes: [FigureBox]
    private let watch = Mutex(BacklogWatch())
    private let ended = EndSignal()
    private let limit = Atomic<UInt64>(.max)

    /// Joins the group and works until `terminate`.
    package init(_ settings: EngineSettings, _ environment: EngineEnvironment) throws {
        status = environment.status
        contacts = environment.contacts
        counts = settings.shard.counts
        log = environment.log
        grace = settings.shard.shutdownGrace
        let shares = settings.shared
        let inboxes = (0..<settings.cores).map { ShardInbox(shard: $0) }
        let boxes = inboxes.map { _ in FigureBox() }
        let ended = ended
        threads = try zip(inboxes, boxes).map { inbox, box in
            try Thread(named: "shard \(inbox.shard)") {
                Self.run(shares, environment, inbox, box)
                ended.note()
            }
        }
        self.inboxes = inboxes
        self.boxes = boxes
    }

    /// Begins to end: finishes what is in flight within the grace. Again: at once.
    package func terminate() {
        let bound = (status.isEnding ? .zero : grace) + Self.patience
        limit.store((TimeSource.system.now + bound).nanoseconds, ordering: .sequentiallyConsistent)
        status.ending()
        for inbox in inboxes { inbox.post(.terminate) }
        ended.wake()
    }

    /// Returns when every shard has left its group, but for those that hang: a stage may hold its shard's thread, and only
    /// the end of the process ends it.
    package func wait() {
        while ended.count < threads.count {
            let now = TimeSource.system.now
            let limit = Instant(nanoseconds: limit.load(ordering: .sequentiallyConsistent))
            guard now < limit else {
                return log.warning("ending without threads that hang", [.count(threads.count - ended.count)])
            }
            ended.wait(nanoseconds: Int64(clamping: min(limit.nanoseconds(since: now), 60_000_000_000)))
        }
        for thread in threads { thread.join() }
    }

    package var figures: [ShardFigures] { boxes.map(\.figures) }

    package var clients: [ClientFigures] { boxes.map(\.clients) }

    /// At most so many records are left of the restores that are under way.
    package var restoreLeft: Int64 {
        boxes.reduce(0) { $0 + ($1.figures.restoring > 0 ? $1.clients.restoreLeft : 0) }
    }

    /// How long each shard has worked, not waited for news; what a transaction's steps wait for is in it.
    package var busySeconds: [Double] { boxes.map(\.seconds) }

    /// For each partition.
    package var backlogs: [Backlog] {
        let partitions = boxes.flatMap { box in
            let ends = (box.clients.consumed?.partitions ?? []).filter { $0.end >= 0 }
                .map { ($0.place, BacklogWatch.LogEnd(end: $0.end, nextFetch: $0.nextOffset, fetched: $0.fetched)) }
            let byPlace = Dictionary(ends) { first, _ in first }
            return box.figures.partitions.map { ($0, byPlace[$0.place]) }
        }
        return watch.withLock { $0.look(partitions, now: SystemTime.milliseconds) }
    }

    /// The longest time that a shard has been at one turn: a stage that calls itself immediate may block it.
    package var longestTurn: Duration {
        let now = TimeSource.system.now
        return boxes.map { $0.busy(now) }.max() ?? .zero
    }

    // MARK: A shard's thread

    private static func run(
        _ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox, _ box: FigureBox
    ) {
        while true {
            do throws(KafkaError) {
                if try serve(settings, environment, inbox, box) { return }
            } catch {
                environment.log.error("a shard cannot be made, trying again", [.shard(inbox.shard), .error(error)])
            }
            if environment.status.isEnding { return }
            usleep(UInt32(restartPause / .microseconds(1)))
        }
    }

    /// False when its clients are of no use any more: another shard takes its place.
    private static func serve(
        _ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox, _ box: FigureBox
    ) throws(KafkaError) -> Bool {
        let ports = try KafkaPorts(settings, shard: inbox.shard, environment, inbox: inbox)
        var shard = Shard(settings.shard, ports: ports)
        var pressure = Pressure()
        while !shard.hasEnded {
            box.begin(shard.ports.now)
            let next = shard.turn()
            if box.end(TimeSource.system.now) {
                let figures = shard.figures
                let clients = shard.ports.clientFigures(areHeld: !figures.canPublish)
                pressure.tell(figures, clients, shard.ports.now, environment.log)
                box.show(figures, clients)
            }
            if let error = shard.ports.consumer.fatalError {
                environment.log.error(
                    "the consumer can go on no more: another takes its place", [.shard(inbox.shard), .error(error)])
                return false
            }
            shard.ports.wait(until: min(next, shard.ports.now + looksEvery), records: shard.wantsRecords)
        }
        return true
    }
}

/// What is known of a shard's clients.
package struct ClientFigures: Sendable {
    package let consumed: ClientStatistics?
    package let produced: ClientStatistics?
    /// False while brokers answer nothing of what was published.
    package var isAnswered = true
    /// At most so many records are left of the changelog.
    package var restoreLeft: Int64 = 0
}

extension KafkaPorts {
    /// Without an answer to anything published, after which readiness says so.
    private static let answerPatience: UInt64 = 5_000_000_000

    /// `areHeld`: outputs wait that the producer did not take.
    func clientFigures(areHeld: Bool) -> ClientFigures {
        let waited = producer.outstanding == 0 && !areHeld ? 0 : now.nanoseconds(since: lastAnswer)
        return ClientFigures(
            consumed: consumer.statistics, produced: producer.statistics, isAnswered: waited < Self.answerPatience,
            restoreLeft: reader?.left ?? 0)
    }
}

/// What keeps a shard from going on, for the log: brokers that do not answer, and a lack of room.
private struct Pressure {
    private static let patience = Duration.seconds(1)

    private var isAnswered = true
    private var isFull = false
    /// What was taken when something was taken last.
    private var taken: Int64 = 0
    private var movedAt = Instant.past

    mutating func tell(_ figures: ShardFigures, _ clients: ClientFigures, _ now: Instant, _ log: Log) {
        if clients.isAnswered != isAnswered {
            isAnswered = clients.isAnswered
            if isAnswered {
                log.info("outputs are acknowledged again")
            } else {
                log.error("outputs wait: no broker acknowledges them", [.count(figures.inFlight)])
            }
        }
        let taken = figures.partitions.reduce(0) { $0 &+ ($1.next ?? 0) }
        if taken != self.taken || figures.hasRoom {
            (self.taken, movedAt) = (taken, now)
            if isFull, figures.hasRoom {
                isFull = false
                log.info("intake goes on")
            }
        } else if !isFull, now >= movedAt + Self.patience {
            // Full it is whenever it catches up: that is told where nothing moves.
            isFull = true
            log.warning("too much is in flight: intake is paused", [.count(figures.inFlight)])
        }
    }
}

/// Counts the threads that have ended, and wakes who waits for them.
private final class EndSignal: Sendable {
    private let ended = Atomic<Int>(0)
    private let signal = WakeSignal()

    var count: Int { ended.load(ordering: .sequentiallyConsistent) }

    func note() {
        ended.wrappingAdd(1, ordering: .sequentiallyConsistent)
        signal.wake()
    }

    func wake() { signal.wake() }

    func wait(nanoseconds: Int64) { signal.wait(nanoseconds: nanoseconds) }
}

/// What one shard publishes of itself: written by its thread, at most every 200 ms, and read by who asks.
final class FigureBox: Sendable {
    /// To show takes 0.1 ms at most: with all 10,000 entries in flight, and none of them in a cache.
    private static let interval = Duration.milliseconds(200)

    private struct State {
        var figures = ShardFigures()
        var clients = ClientFigures(consumed: nil, produced: nil)
    }

    private let state = Mutex(State())
    /// When the turn began that is under way, in nanoseconds; 0 between turns.
    private let turn = Atomic<UInt64>(0)
    private let next = Atomic<UInt64>(0)
    /// Nanoseconds of turns that have ended.
    private let worked = Atomic<UInt64>(0)

    func begin(_ now: Instant) { turn.store(now.nanoseconds, ordering: .relaxed) }

    /// True when figures are to be shown.
    func end(_ now: Instant) -> Bool {
        let began = Instant(nanoseconds: turn.exchange(0, ordering: .relaxed))
        worked.store(worked.load(ordering: .relaxed) &+ now.nanoseconds(since: began), ordering: .relaxed)
        guard now.nanoseconds >= next.load(ordering: .relaxed) else { return false }
        next.store((now + Self.interval).nanoseconds, ordering: .relaxed)
        return true
    }

    func show(_ figures: ShardFigures, _ clients: ClientFigures) {
        state.withLock { state in
            state.figures = figures
            state.clients = clients
        }
    }

    var seconds: Double { Double(worked.load(ordering: .relaxed)) / 1e9 }

    var figures: ShardFigures { state.withLock { $0.figures } }
    var clients: ClientFigures { state.withLock { $0.clients } }

    /// How long the shard has been at one turn: a stage that calls itself immediate may hold it.
    func busy(_ now: Instant) -> Duration {
        let begin = turn.load(ordering: .relaxed)
        return begin == 0 ? .zero : .nanoseconds(Int64(clamping: now.nanoseconds(since: Instant(nanoseconds: begin))))
    }
}
