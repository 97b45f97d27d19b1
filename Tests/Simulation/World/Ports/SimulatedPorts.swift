package import PushmillEngine
package import PushmillKafka
package import PushmillStages

/// Is told what a run is judged by.
package protocol PortsWitness: AnyObject {
    /// The chain is given the event.
    func begun(_ event: Int32, by ports: SimulatedPorts)
    /// It ends without being published.
    func dropped(_ event: Int32)
    /// Something after which events may be repeated.
    func troubled(_ what: String, by ports: SimulatedPorts)
    /// A promise of the shard to its ports was broken.
    func broken(_ what: String, by ports: SimulatedPorts)
}

/// Topics by their places in the cluster.
package enum Place {
    package static let inputs = 2
    package static let output = 2
    package static let letters = 3
    package static let changelog = 4
    package static let names = ["events", "more-events", "notifications", "dead-letters", "badges"]
}

/// The ports of one shard of one process, over the simulated cluster.
package final class SimulatedPorts: ShardPorts {
    package let node: Node
    package let number: Int
    let events: [SimulatedEvent]
    let settings: ShardSettings
    let switches: Switches
    unowned let witness: any PortsWitness
    var dice: Dice
    /// Nanoseconds that the turn has taken so far.
    package internal(set) var elapsed: UInt64 = 0
    /// There is something that the next turn would take.
    var hasNews: () -> Void = {}
    /// Waits, with the world going on, where the shard may: false where it may not.
    var waitFor: (_ nanoseconds: UInt64, _ condition: () -> Bool) -> Bool = { _, _ in false }

    // The group.
    var membership: Membership?
    var groupEvents: [ConsumerEvent] = []
    /// The last question about each partition.
    private var questions: [TopicPartition: Int] = [:]
    private var question = 0
    /// The highest number of a commit that has come to the brokers.
    private var latestCommit: UInt32 = 0

    // Records.
    var readers: [LogReader] = []
    var fetched = FetchedRecords()
    let fetching: Connection
    package internal(set) var lent = 0

    // The chain.
    var current: SimulatedOutput?
    var suspensions: [Suspension?]
    /// The places in it that are not nil.
    var suspended: Set<Int> = []
    var suspensionNumber: UInt64 = 0
    var stageResults: [Int] = []

    // Outputs.
    let transactionalName: String?
    var producer: ProducerClient?
    var reports: [OutputReport<SimulatedOutput>] = []
    var letters: [(tag: UInt64, output: SimulatedOutput)] = []

    // The changelog.
    var replicas: [LogReader] = []
    var replicated: [Replicated] = []
    let replicating: Connection
    let openFile: (TopicPartition) -> DiskFile

    var terminations = 0
    /// How often it was told to end.
    private var timesTold = 0
    private(set) var hasToldEnding = false
    /// The shard has asked to leave the group.
    private(set) var isLeaving = false

    package struct Switches: Sendable {
        /// Of each message, from when it was taken.
        package var deadline = Duration.milliseconds(1500)
        /// In a thousand records.
        package var twice = 0
        /// What a batch call of the client holds when its assignment changes is lost.
        package var losesFetched = false
        /// In a thousand questions for offsets.
        package var unanswered = 0
        /// In a thousand seeks and replacements.
        package var failures = 20

        package init() {}
    }

    package init(
        _ node: Node, number: Int, settings: ShardSettings, events: [SimulatedEvent], switches: Switches,
        instance: String?, transactionalName: String?, witness: any PortsWitness,
        openFile: @escaping (TopicPartition) -> DiskFile
    ) {
        self.node = node
        self.number = number
        self.settings = settings
        self.events = events
        self.switches = switches
        self.witness = witness
        self.transactionalName = transactionalName
        self.openFile = openFile
        dice = node.timeline.dice.fork()
        suspensions = Array(repeating: nil, count: settings.maxInFlight + 2)
        fetching = Connection(node)
        replicating = Connection(node)
        membership = Membership(node, instance: instance) { [weak self] event in self?.tell(event) }
        membership?.hasLeft = { [weak self] in self?.hasNews() }
        producer = newProducer()
        membership?.join()
    }

    package var timeline: Timeline { node.timeline }
    var cluster: Cluster { node.cluster }

    // MARK: Time

    package var now: Instant { Instant(nanoseconds: timeline.now + elapsed) }
    package var wallClock: Int64 { cluster.wallClock + node.clockError }

    package func wait(until time: Instant, records: Bool) {}

    // MARK: The group

    func tell(_ event: ConsumerEvent) {
        if case .lost = event { witness.troubled("partitions are lost", by: self) }
        groupEvents.append(event)
        hasNews()
    }

    package func takeEvents() -> [ConsumerEvent] {
        defer { groupEvents = [] }
        return groupEvents
    }

    package func acceptAssignment() {
        loseFetched()
        membership?.acceptAssignment()
    }

    package func stop(_ partition: TopicPartition) { stop([partition]) }

    package func giveBack(_ partitions: [TopicPartition]) {
        for partition in partitions { questions[partition] = nil }
        loseFetched()
        stop(partitions)
        membership?.giveBack(partitions)
    }

    func loseFetched() {
        if switches.losesFetched { fetched.loseHeld() }
        goOnReading()
    }

    /// Readers go on as soon as there is room, whatever has made it.
    func goOnReading() { if fetched.isEmpty { for reader in readers { reader.goOn() } } }

    private func stop(_ partitions: [TopicPartition]) {
        defer { goOnReading() }
        readers.removeAll { reader in
            guard partitions.contains(cluster.partitions[reader.log.topic][Int(reader.log.partition)]) else {
                return false
            }
            reader.stop()
            fetched.remove(topic: reader.log.topic, reader.log.partition)
            return true
        }
    }

    package func askCommitted(_ partitions: [TopicPartition]) {
        question += 1
        for partition in partitions { questions[partition] = question }
        askCommitted(partitions, question, attempts: 1000)
    }

    /// As long as a transaction that would commit one of them is open, the answer is: later. What was asked again since, or
    /// has gone, is not told.
    private func askCommitted(_ all: [TopicPartition], _ question: Int, attempts: Int) {
        let partitions = all.filter { questions[$0] == question }
        guard !partitions.isEmpty else { return }
        membership?.connection.request(patience: .milliseconds(400)) { cluster in
            cluster.group.committed(partitions)
        } _: { [weak self] (answer: [Position]?) in
            guard let self else { return }
            if answer != nil, dice.chance(switches.unanswered) { return }
            if let answer {
                return tell(.committed(answer.filter { self.questions[$0.partition] == question }))
            }
            guard attempts > 0 else { return }
            node.after(.milliseconds(40)) { [weak self] in
                self?.askCommitted(partitions, question, attempts: attempts - 1)
            }
        }
    }

    package func askRange(_ partition: TopicPartition) {
        question += 1
        questions[partition] = question
        askRange(partition, question, attempts: 1000)
    }

    /// Again and again, until it is answered or asked anew.
    private func askRange(_ partition: TopicPartition, _ question: Int, attempts: Int) {
        guard let log = cluster.log(partition), questions[partition] == question else { return }
        fetching.request(patience: .milliseconds(400)) { _ -> Range<Int64>? in
            log.isLeaderAway ? nil : log.start..<log.lastStable
        } _: { [weak self] (answer: Range<Int64>?) in
            guard let self, questions[partition] == question else { return }
            if answer != nil, dice.chance(switches.unanswered) { return }
            if let answer { return tell(.range(partition, answer)) }
            guard attempts > 0 else { return }
            node.after(.milliseconds(300)) { [weak self] in
                self?.askRange(partition, question, attempts: attempts - 1)
            }
        }
    }

    package func commit(_ positions: [Position], number: UInt32) {
        precondition(membership?.state != .leaving, "librdkafka would end the process")
        // Without an id nothing is known of this member: the broker would say the same.
        let (id, generation) = (membership?.id ?? -1, membership?.generation ?? -1)
        membership?.connection.request(patience: .milliseconds(500)) { [weak self] cluster in
            self?.arrived(commit: number)
            return cluster.group.commit(positions, member: id, generation: generation)
        } _: { [weak self] (answer: GroupCoordinator.CommitAnswer?) in
            guard let self else { return }
            switch answer {
            case nil:
                witness.troubled("a commit has no answer", by: self)
                // Most clients tell that there was no answer; some never do.
                if dice.chance(900) { tell(.commitEnded(number: number, .retry(.unanswered))) }
            case .accepted(let refused):
                let answer: CommitAnswer =
                    refused.isEmpty
                    ? .accepted
                    : refused.count == positions.count ? .denied(KafkaError("refused")) : .partly(refused: refused)
                tell(.commitEnded(number: number, answer))
            case .refused(.rebalance): tell(.commitEnded(number: number, .retry(.unanswered)))
            case .refused: tell(.commitEnded(number: number, .refused(.unanswered)))
            }
        }
    }

    /// One that comes behind a later one takes positions back, which brokers cannot tell, and no client can prevent.
    private func arrived(commit number: UInt32) {
        if number < latestCommit { witness.troubled("a commit came late", by: self) }
        latestCommit = max(latestCommit, number)
    }

    package var isJoining: Bool { membership?.isJoining ?? false }

    package func leave() {
        isLeaving = true
        for reader in readers { reader.stop() }
        fetched.removeAll()
        membership?.leave()
    }

    package var hasLeft: Bool { membership?.state == .left }

    /// Another process has its name in the group: this consumer is of no use any more.
    var isFenced: Bool { membership?.state == .fenced }

    // MARK: Commands and news

    package func terminate() {
        terminations += 1
        timesTold += 1
        hasNews()
    }

    package func takeTerminations() -> Int {
        defer { terminations = 0 }
        return terminations
    }

    package func tell(_ news: ShardNews) {
        timeline.history.tell(timeline.now, number, "\(news)")
        switch news {
        // Told twice it leaves at once what it has.
        case .leftUnfinished where timesTold > 1: break
        case .drainTooLong, .wasAway, .producerReplaced, .commitFailed, .leftUnfinished, .notLeftInTime, .diskFailed:
            witness.troubled("\(news)", by: self)
        case .ending: hasToldEnding = true
        default: break
        }
    }

    /// Untaken news for which the thread would not wait: for what is not asked here it was woken once, when it came.
    func isEager(wantsRecords: Bool) -> Bool {
        !groupEvents.isEmpty || !reports.isEmpty || terminations > 0 || !letters.isEmpty
            || wantsRecords && !fetched.isEmpty
    }

    /// Ends the references that hold the parts of a run together.
    func letGo() {
        for reader in readers + replicas { reader.stop() }
        readers = []
        replicas = []
        membership = nil
        producer?.abandon()
        producer = nil
        hasNews = {}
        waitFor = { _, _ in false }
    }
}
