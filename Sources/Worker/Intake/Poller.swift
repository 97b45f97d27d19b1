import Kafka
import Push
import Telemetry

/// The polling thread: records in, rebalances answered, and the way to the end. It waits for records, for
/// room, and for the moment that librdkafka takes to seek.
final class Poller {
    private static let batchSize = 1000
    /// How long intake may be blocked before partitions are paused, which drops what was prefetched of them.
    private static let patience: UInt64 = 200_000_000
    /// Milliseconds.
    private static let seekPatience: Int32 = 1000

    let consumer: Consumer
    let flow: Flow
    let committer: Mailbox<Committer.Request>
    let outputs: Outputs
    let settings: WorkerSettings
    let metrics: ServiceMetrics
    let log: Log
    let status: WorkerStatus
    let messages: Mailbox<PollerMessage>

    var intake: Intake
    var rebalances = DrainMachine<TopicPartition, ContinuousClock.Instant>()
    var shutdown: ShutdownMachine<ContinuousClock.Instant>
    var isLeaving = false
    var hasEnded = false
    private var isSubscribed = false
    /// Assignments whose committed positions are being read.
    var startsAwaited = 0
    var paused: [TopicPartition] = []
    /// Assigned and not read, until what is in flight of them from before has ended.
    var returning: [PartitionStart] = []
    let changelog: Changelog?
    /// Where contacts come and go with the partitions.
    let contacts: ContactFollower?
    /// Assigned and not read, until their counts and contacts are restored.
    var restoring: [Restoring] = []
    /// Assignments that waited for that.
    var restores = 0
    private var blockedSince: Instant?
    private let topics: InputTopics
    private var knownTopics: UInt32 = 0

    init(
        consumer: Consumer, flow: Flow, committer: Mailbox<Committer.Request>, outputs: Outputs, topics: InputTopics,
        changelog: Changelog?, contacts: ContactFollower?, lanes: [Mailbox<LaneMessage>],
        messages: Mailbox<PollerMessage>, settings: WorkerSettings, metrics: ServiceMetrics, log: Log,
        status: WorkerStatus
    ) {
        self.consumer = consumer
        self.flow = flow
        self.committer = committer
        self.outputs = outputs
        self.topics = topics
        self.changelog = changelog
        self.contacts = contacts
        self.messages = messages
        self.settings = settings
        self.metrics = metrics
        self.log = log
        self.status = status
        intake = Intake(
            flow: flow, lanes: lanes, settings: settings, metrics: metrics, log: log, nameOf: consumer.topicName)
        shutdown = ShutdownMachine(grace: settings.shutdownGrace)
    }

    /// The thread's life: from subscription until the group has been left.
    func serve() {
        var batch = RecordBatch(capacity: Self.batchSize)
        var inbox: [PollerMessage] = []
        while !isLeaving {
            takeMessages(&inbox)
            for message in inbox { handle(message) }
            inbox.removeAll(keepingCapacity: true)
            if !isSubscribed, status.isPrepared { subscribe() }
            // Blocked and not paused, a poll could bring records that there is no room for.
            if !isLeaving, !intake.isBlocked || !paused.isEmpty {
                let polled = consumer.poll(milliseconds: patience, into: &batch)
                receive(batch.records)
                for event in polled.rebalances { answer(event) }
                for error in polled.errors { report(error) }
            }
            intake.admit(TimeSource.system.now)
            balance()
            keepTime()
        }
        leave()
    }

    /// Until the group has been left or the grace is over; nothing but a further signal is heard any more.
    private func leave() {
        do throws(KafkaError) {
            try consumer.leave()
        } catch {
            return log.warning("the group was not left in order", [.error(error)])
        }
        var inbox: [PollerMessage] = []
        while !hasEnded {
            messages.take(into: &inbox, until: .past)
            for case .terminate in inbox { perform(shutdown.terminate(now: ContinuousClock.now)) }
            inbox.removeAll()
            if consumer.hasLeft(milliseconds: 10) {
                perform(shutdown.left())
            } else if let deadline = shutdown.deadline, deadline <= ContinuousClock.now {
                log.warning("the group could not be told in time that this member leaves it")
                perform(shutdown.hitDeadline(now: ContinuousClock.now))
            }
        }
    }

    private func subscribe() {
        isSubscribed = true
        do throws(KafkaError) {
            try consumer.subscribe(to: settings.input)
        } catch {
            fail(error)
        }
    }

    /// Short while something is under way that no record announces.
    private var patience: Int32 {
        if intake.isBlocked { return 0 }
        let isWaiting = rebalances.deadline != nil || !shutdown.isRunning || startsAwaited > 0 || !returning.isEmpty
        return isWaiting ? 10 : 100
    }

    private func takeMessages(_ inbox: inout [PollerMessage]) {
        guard intake.isBlocked else { return messages.take(into: &inbox, until: .past) }
        flow.wantRoom()
        messages.take(into: &inbox, until: TimeSource.system.now + .milliseconds(20))
    }

    private func receive(_ records: [Record]) {
        for record in records where record.topic >= knownTopics {
            topics.learn(record.topic, consumer.topicName(record.topic))
            knownTopics = record.topic + 1
        }
        intake.receive(records)
    }

    private func report(_ error: KafkaError) {
        log.error("the input cannot be read", [.error(error)])
        if let fatal = consumer.fatalError { fail(fatal) }
    }

    private func fail(_ error: KafkaError) {
        status.fail(error)
        perform(shutdown.terminate(now: ContinuousClock.now))
    }

    // MARK: Room

    /// Pauses partitions when room does not come soon, so that the poll goes on; resumes them when it has come.
    private func balance() {
        let now = TimeSource.system.now
        if intake.isBlocked {
            let since = blockedSince ?? now
            blockedSince = since
            if paused.isEmpty, now.nanoseconds(since: since) > Self.patience { pause(intake.served.places) }
        } else {
            blockedSince = nil
            if !paused.isEmpty { resume() }
        }
        for (place, offset) in intake.newlyStalled() {
            consumer.pause([place])
            intake.served[place]?.paused.set(1)
            log.warning(
                "a message hangs with too many finished ones behind it: intake from its partition waits",
                [.topic(place.topic), .partition(place.partition), .offset(offset)])
        }
        let moved = intake.movedStalls()
        guard !moved.isEmpty else { return }
        let sought = seek(to: moved)
        intake.endStalls(of: sought)
        letRead(sought)
    }

    /// Gives those that are read on from there; the others are to be tried again. A seek that comes just when librdkafka
    /// pauses for a rebalance is dropped.
    func seek(to positions: [Position]) -> [TopicPartition] {
        let results = consumer.seek(to: positions, milliseconds: Self.seekPatience)
        return results.filter { $0.error == nil }.map(\.position.partition)
    }

    private func pause(_ places: [TopicPartition]) {
        paused = places
        consumer.pause(places)
        for place in places { intake.served[place]?.paused.set(1) }
        let inFlight = flow.inFlight
        log.warning("too much is in flight: intake is paused", [.count(inFlight.count)])
    }

    /// They are read from now on; while all are paused, when all are.
    func letRead(_ places: [TopicPartition]) {
        guard paused.isEmpty else { return hold(places) }
        consumer.resume(places)
        for place in places { intake.served[place]?.paused.set(0) }
    }

    /// They wait with all the others.
    func hold(_ places: [TopicPartition]) {
        consumer.pause(places)
        paused += places.filter { !paused.contains($0) }
        for place in places { intake.served[place]?.paused.set(1) }
    }

    private func resume() {
        let places = paused.filter { intake.served[$0] != nil && !intake.isStalled($0) }
        paused = []
        consumer.resume(places)
        for place in places { intake.served[place]?.paused.set(0) }
        log.info("intake goes on")
    }
}
