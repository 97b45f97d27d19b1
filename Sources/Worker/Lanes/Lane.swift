import Kafka
import Push
import Stores
import Telemetry

/// One thread that takes messages through the chain, one after the other. A message whose stage suspends steps aside,
/// holding back only the later ones of its own key.
actor Lane {
    nonisolated let executor = LaneExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    nonisolated let watch = LaneWatch()

    let chain: Chain
    let time: TimeSource
    private let inputTopics: InputTopics
    /// The intake waits for room, which there is now.
    private let onRoom: @Sendable () -> Void
    let publisher: Publisher
    nonisolated let held: HeldOutputs
    // Only the lane's thread comes here, one access after another: checks would be for every message, and for nothing.
    /// Where nothing is counted there are none.
    @exclusivity(unchecked) private var counts: LaneCounts?

    @exclusivity(unchecked) var order = KeyOrder<LaneItem>()
    @exclusivity(unchecked) var timers = DeadlineQueue<Instant, Carrier>()
    @exclusivity(unchecked) private var spare: [Carrier] = []
    /// The lane's own, so that no two lanes count the references of one topic.
    @exclusivity(unchecked) private var topics: [SourceTopic] = []

    /// What runs next: those whose key was released, then the batch from `next` on.
    @exclusivity(unchecked) var released: [LaneItem] = []
    /// The item taken up last was one of those, and so holds its key already.
    @exclusivity(unchecked) private var wasReleased = false
    @exclusivity(unchecked) private var batch: [LaneItem] = []
    @exclusivity(unchecked) private var next = 0
    /// The message that the current task is at.
    @exclusivity(unchecked) var current: Carrier?
    @exclusivity(unchecked) var now: Instant
    @exclusivity(unchecked) private var wallClock: Int64 = 0

    init(
        chain: Chain, publisher: sending Publisher, counts: consuming LaneCounts?, topics: InputTopics,
        time: TimeSource, onRoom: @escaping @Sendable () -> Void
    ) {
        self.chain = chain
        held = publisher.held
        self.publisher = publisher
        self.counts = counts
        inputTopics = topics
        self.time = time
        self.onRoom = onRoom
        now = time.now
    }

    /// The thread's life: ends with `LaneMessage.stop`.
    nonisolated func serve() {
        executor.adoptThread()
        var messages: [LaneMessage] = []
        var wakeUp = Instant.never
        while true {
            executor.mailbox.take(into: &messages, until: wakeUp)
            assumeIsolated { $0.beginTurn() }
            for message in messages {
                switch message {
                case .items(let items): assumeIsolated { $0.run(items) }
                case .job(let job): executor.run(job)
                case .giveUp(let slots): assumeIsolated { $0.giveUp(slots) }
                case .publishHeld: assumeIsolated { $0.publisher.publishHeld() }
                case .left(let carrier): assumeIsolated { $0.leftElsewhere(carrier) }
                case .stop: return
                }
            }
            messages.removeAll(keepingCapacity: true)
            wakeUp = assumeIsolated { $0.endTurn() }
        }
    }

    private func beginTurn() {
        now = time.now
        wallClock = SystemTime.milliseconds
        watch.begin(now)
        publisher.publishHeld()
    }

    private func endTurn() -> Instant {
        fireTimers()
        run([])
        watch.end()
        if publisher.settle() { onRoom() }
        let wakeUp = timers.earliest ?? .never
        return publisher.held.isEmpty ? wakeUp : min(wakeUp, now + Publisher.heldPatience)
    }

    private func run(_ items: [LaneItem]) {
        batch = items
        next = 0
        while next < batch.count || !released.isEmpty {
            let task = Task.immediate { await self.runMessages() }
            if let carrier = current.take() { stepAside(carrier, in: task) }
        }
        batch = []
    }

    /// Runs until there is nothing left, or until a message has suspended: then another task goes on, and this one is
    /// that message's own.
    private func runMessages() async {
        while let carrier = takeUp() {
            current = carrier
            let verdict = await chain.run(carrier.delivery)
            // It has suspended; it may be another message's by now.
            guard current === carrier else { return resumed(carrier, verdict) }
            current = nil
            if let verdict { finish(carrier, verdict) } else { hold(carrier) }
        }
    }

    /// The next message that needs its stages; those that end before are carried out here.
    private func takeUp() -> Carrier? {
        while let item = nextItem() {
            if let due = timers.earliest, due <= now { fireTimers() }
            if publisher.isLate(item.slot) {
                item.record.destroy()
                publisher.abandon(item.ticket)
                release(item.key)
                continue
            }
            let carrier = spare.popLast() ?? Carrier(self)
            carrier.load(item, topic: topic(of: item), now, holdsKey: wasReleased)
            switch begin(carrier) {
            case .ended(let verdict): finish(carrier, verdict)
            case .run: return carrier
            case .notYet: retryLater(carrier)
            }
        }
        return nil
    }

    func begin(_ carrier: Carrier) -> Chain.OldStep {
        chain.begin(carrier.delivery, taken: carrier.taken, now: now, wallClock: wallClock)
    }

    private func nextItem() -> LaneItem? {
        if let item = released.popLast() {
            wasReleased = true
            return item
        }
        wasReleased = false
        while next < batch.count {
            let item = batch[next]
            next += 1
            if order.isEmpty { return item }
            switch order.admit(item.key, item) {
            case .run: return item
            case .queued: continue
            }
        }
        return nil
    }

    private func topic(of item: LaneItem) -> SourceTopic {
        let number = Int(item.record.topic)
        if number >= topics.count { topics = inputTopics.names.map { SourceTopic($0) } }
        return topics[number]
    }

    /// The message's last step on this lane; without a verdict it is given up.
    func finish(_ carrier: Carrier, _ verdict: Verdict?) {
        now = time.now
        watch.begin(now)
        if let verdict { publisher.publish(verdict, of: carrier, now) }
        letGo(of: carrier, verdict == nil ? nil : carrier.delivery.badgeOperation)
    }

    /// The message has left, having done that to its recipient's count.
    func letGo(of carrier: Carrier, _ operation: BadgeOperation?) {
        let key = carrier.item?.key
        if let slot = carrier.counting.take() { counts?.end(slot, operation) }
        carrier.release()
        if !carrier.isOrphan { spare.append(carrier) }
        release(key)
    }

    func beginCount(for carrier: Carrier) { carrier.counting = counts?.begin(carrier.delivery.record) }

    /// Lets the next message of this key run.
    private func release(_ key: OrderKey?) {
        guard !order.isEmpty, let item = order.release(key) else { return }
        released.append(item)
    }
}
