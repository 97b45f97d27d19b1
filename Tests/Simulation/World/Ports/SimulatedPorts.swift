package import PushmillEngine
package import PushmillKafka
package import PushmillStages

/// Receives what a run is judged by.
package protocol PortsWitness: AnyObject {
    /// The chain begins the event.
    func begun(_ event: Int32, by ports: SimulatedPorts)
    /// The event ends without being published.
    func dropped(_ event: Int32)
    /// Something happened after which events may be repeated.
    func troubled(_ what: String, by ports: SimulatedPorts)
    /// A shard has noticed that a changelog is not the one it was.
    func noticedLoss(ofCounts partition: Int32)
    /// The shard broke a promise to its ports.
    func broken(_ what: String, by ports: SimulatedPorts)
}

/// Topics by their indices in the cluster.
package enum Topics {
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
    /// Called when there is something for the next turn.
    var hasNews: () -> Void = {}
    /// Waits while the simulation goes on, and returns the condition. False at once if the shard may not wait.
    var waitFor: (_ nanoseconds: UInt64, _ condition: () -> Bool) -> Bool = { _, _ in false }

    // The group.
    var membership: Membership?
    var groupEvents: [ConsumerEvent] = []
    /// The number of the last question about each partition.
    private var questions: [TopicPartition: Int] = [:]
    private var question = 0
    /// The highest number of a commit that has reached the brokers.
    private var latestCommit: UInt32 = 0

    // Records.
    var readers: [LogReader] = []
    var fetched = FetchedRecords()
    let fetching: Connection
    package internal(set) var lent = 0

    // The chain.
    var current: SimulatedOutput?
    var suspensions: [Suspension?]
    /// The indices of `suspensions` that are not nil.
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
    /// How often the shard was told to end.
    private var timesTold = 0
    private(set) var hasToldEnding = false
    /// The shard has asked to leave the group.
    private(set) var isLeaving = false

    package struct Switches: Sendable {
        /// How long a stage may take from the message's turn, which is to come within the same time after its intake.
        package var deadline = Duration.milliseconds(1500)
        /// Per thousand: how many records come twice.
        package var twice = 0
        /// Records that a batch call of the client holds are lost when its assignment changes.
        package var losesFetched = false
        /// Per thousand: how many questions for offsets get no answer.
        package var unanswered = 0
        /// Per thousand: how many seeks fail. Replacements of the producer fail four times as often.
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

    /// Readers continue once nothing fetched is left, whatever the reason.
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

    /// Repeats the question while an open transaction would commit one of the partitions. Answers for partitions that
    /// were asked about again, or given back, are dropped.
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

    /// Repeats the question until it is answered, or a later one replaces it.
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

    package func askRecord(_ position: Position) {
        question += 1
        questions[position.partition] = question
        askRecord(position, question, attempts: 1000)
    }

    /// As for a range. An open transaction in front of the record hides it.
    private func askRecord(_ position: Position, _ question: Int, attempts: Int) {
        guard let log = cluster.log(position.partition), questions[position.partition] == question else { return }
        fetching.request(patience: .milliseconds(400)) { _ -> Int64?? in
            let isHidden = log.lastStable..<max(log.lastStable, log.end) ~= position.offset
            return log.isLeaderAway || isHidden
                ? nil : .some(log.entry(at: position.offset).flatMap { log.isVisible($0) ? $0.timestamp : nil })
        } _: { [weak self] (answer: Int64??) in
            guard let self, questions[position.partition] == question else { return }
            if answer != nil, dice.chance(switches.unanswered) { return }
            if let answer { return tell(.record(position, timestamp: answer)) }
            guard attempts > 0 else { return }
            node.after(.milliseconds(300)) { [weak self] in
                self?.askRecord(position, question, attempts: attempts - 1)
            }
        }
    }

    package func commit(_ positions: [Position], number: UInt32) {
        precondition(membership?.state != .leaving, "librdkafka would end the process")
        // A member without an ID is unknown, as it would be to real brokers.
        let (id, generation) = (membership?.id ?? -1, membership?.generation ?? -1)
        membership?.connection.request(patience: .milliseconds(500)) { [weak self] cluster in
            self?.arrived(commit: number)
            return cluster.group.commit(positions, member: id, generation: generation)
        } _: { [weak self] (answer: GroupCoordinator.CommitAnswer?) in
            guard let self else { return }
            switch answer {
            case nil:
                witness.troubled("a commit has no answer", by: self)
                // Most clients report the missing answer; some never do.
                if dice.chance(900) { tell(.commitEnded(number: number, .retry(.unanswered))) }
            case .accepted(let refused):
                let answer: CommitAnswer =
                    refused.isEmpty
                    ? .accepted
                    : refused.count == positions.count ? .denied(KafkaError("refused")) : .partly(refused: refused)
                tell(.commitEnded(number: number, answer))
            case .denied: tell(.commitEnded(number: number, .denied(KafkaError("denied"))))
            case .refused(.rebalance): tell(.commitEnded(number: number, .retry(.unanswered)))
            case .refused: tell(.commitEnded(number: number, .refused(.unanswered)))
            }
        }
    }

    /// A commit that arrives after a later one takes positions back: brokers cannot detect it, nor clients prevent it.
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

    /// Another process has the member's static name: this consumer is of no more use.
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
        // A shard that is told twice leaves its work unfinished at once.
        case .leftUnfinished where timesTold > 1: break
        case .drainTooLong, .wasAway, .producerReplaced, .commitFailed, .leftUnfinished, .notLeftInTime, .diskFailed:
            witness.troubled("\(news)", by: self)
        case .ending: hasToldEnding = true
        case .changelogAnew(let partition): witness.noticedLoss(ofCounts: partition)
        default: break
        }
    }

    /// True if there is untaken news for which the real thread would not wait. Other news wakes it once, on arrival.
    func isEager(wantsRecords: Bool) -> Bool {
        !groupEvents.isEmpty || !reports.isEmpty || terminations > 0 || !letters.isEmpty
            || wantsRecords && !fetched.isEmpty
    }

    /// Breaks the reference cycles between the parts of a run.
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
