package import PushmillEngine
import PushmillPayload
import PushmillStages

/// A fault that is injected into a run. Times are nanoseconds.
package enum Fault: Sendable {
    case kill(instance: Int, away: UInt64, isNew: Bool, losesDisk: Bool, shards: Int)
    /// The process is frozen while another one takes its names. It is killed two seconds after it wakes.
    case zombie(instance: Int, frozen: UInt64)
    case freeze(instance: Int, time: UInt64)
    /// Before or after a step of a transaction.
    case freezeInTransaction(instance: Int, Interruption.Moment, isAfter: Bool, time: UInt64)
    case killInTransaction(instance: Int, Interruption.Moment, isAfter: Bool)
    /// The process dies as a transaction request leaves, which arrives that much later.
    case killInRequest(instance: Int, late: UInt64)
    /// The machine's disk lacks the last writes.
    case powerLoss(instance: Int, away: UInt64)
    /// Another broker becomes the group's coordinator.
    case coordinatorMoves
    /// Killed that soon after it is told to give partitions back. It starts again at once.
    case killInRevocation(instance: Int, after: UInt64)
    /// The group's coordinator removes its members, as an operator can have it do.
    case expel(instance: Int)
    case restart(instance: Int, shards: Int)
    case cut(instance: Int, time: UInt64)
    case clock(instance: Int, milliseconds: Int64)
    case leaderAway(topic: Int, partition: Int, time: UInt64)
    /// One of three brokers: every third partition has no leader.
    case brokerAway(number: Int, time: UInt64)
    case outage(time: UInt64)
    case storm(instance: Int, time: UInt64)
    case compact
    /// Retention drops what is older than `age` from one input partition.
    case expire(topic: Int, partition: Int, age: UInt64)
    /// An upstream producer keeps a transaction open that long and aborts it: everything behind its records waits.
    case upstream(topic: Int, partition: Int, records: Int, time: UInt64)
    case diskFails(instance: Int)
    /// An unclean election: brokers lose the last records of a log, acknowledged or not.
    case lose(topic: Int, partition: Int, records: Int)
    /// The last partitions are added to the input, and that much later to the changelog.
    case grow(later: UInt64)
    /// The group denies commits of a partition.
    case deny(topic: Int, partition: Int, time: UInt64)
    /// A topic loses a partition for a moment, as an exactly-once instance has records for it in flight.
    case loseReports(instance: Int)
    /// The coordinator ends the transactions of an instance, and fences their producers.
    case timeOut(instance: Int)
}

/// What follows when everything is done. `madeAnew`: input logs are recreated, and more events come. `replaced`: the
/// same while no instance runs, and the new logs outgrow the old ones. `forgotten`: no instance runs for so long that
/// brokers forget the committed offsets. `cutCounts`: brokers lose the last records of changelogs, and their owners,
/// who know the counts, write more.
package enum Sequel: Sendable { case none, madeAnew, replaced, forgotten, cutCounts }

/// One run, derived entirely from a seed.
package struct Scenario: Sendable {
    package let seed: UInt64
    package var settings: ShardSettings
    package var isStatic: Bool
    package var topics = 1
    package var partitions = 8
    package var instances = 3
    package var shards = 2
    package var events: [SimulatedEvent] = []
    /// How many of the partitions are added during the run.
    package var added = 0
    /// How many of the partitions the recreated input does not have any more.
    package var removed = 0
    /// When each event is produced; `gaps`: how many offsets the log skips before it.
    package var times: [UInt64] = []
    package var gaps: [Int64] = []
    package var faults: [(time: UInt64, fault: Fault)] = []
    package var sequel = Sequel.none
    /// How many of the last events come after the sequel.
    package var late = 0
    /// Faults after the sequel's beginning: while its logs are to be noticed, and from `isWithEvents` on while the late
    /// events come.
    package var lateFaults: [(isWithEvents: Bool, time: UInt64, fault: Fault)] = []
    /// A log without a leader after everything else has healed: other partitions must get on without it.
    package var leaderless: (topic: Int, partition: Int)?
    /// Nothing heals before this time.
    package var healsAfter: UInt64 = 0
    package var switches = SimulatedPorts.Switches()
    package var network = NetworkConditions()
    package var timing = GroupTiming()
    /// Half of the instances begin as the next release, and each start of one is an update or a downgrade.
    package var mixesReleases = false
    /// Milliseconds. Compaction keeps everything younger than this.
    package var compactionLag: Int64 = 30_000
    package var transactionTimeout = UInt64.seconds(10)

    package var isExactlyOnce: Bool { settings.isTransactional }
    /// True if no fault may repeat or delay anything: at most, instances are restarted. A record that brokers refuse
    /// counts as a fault, because it ends its producer.
    package var isCalm: Bool {
        faults.allSatisfy { if case .restart = $0.fault { true } else { false } } && switches.failures == 0
            && removed == 0 && lateFaults.isEmpty
            && !events.contains {
                $0.behaviour == .refusedByBrokers || $0.mayBeLetter && $0.letterRefuser == .brokers
            }
    }

    package init(seed: UInt64, faults count: Int = 20, events: Int = 200) {
        var dice = Dice(seed: seed)
        self.seed = seed
        let isTransactional = dice.chance(500)
        isStatic = dice.chance(500)
        // Counts of two topics would share one changelog, which the configuration rejects.
        topics = 1
        settings = ShardSettings()
        settings.isTransactional = isTransactional
        settings.counts = true
        settings.ordering = dice.chance(700) ? .key : .partition
        settings.reset = dice.pick([.earliest, .earliest, .latest, .error])
        settings.maxInFlight = dice.pick([8, 40, 200, 1000])
        settings.checkpointInterval = .milliseconds(dice.pick([5, 20, 20, 100]))
        settings.drain = .milliseconds(800)
        settings.shutdownGrace = .seconds(4)
        settings.sessionTimeout = .seconds(3)
        settings.countBudget = 1 << 20
        pauseIntake()
        makeEvents(events, &dice)
        refuseLetters()
        makeFaults(count, &dice)
        cutCounts()
        harmSequel()
        guard count > 0 else {
            switches.failures = 0
            return
        }
        switches.twice = dice.pick([0, 5, 20])
        switches.losesFetched = dice.chance(300)
        network.lost = dice.pick([0, 0, 2, 10])
        network.stray = dice.pick([0, 0, 1, 3])
        network.slow = dice.pick([2, 10, 50])
    }

    private mutating func makeEvents(_ count: Int, _ dice: inout Dice) {
        let recipients = dice.between(20...60)
        var places: [(topic: Int, partition: Int32)] = []
        for _ in 0..<recipients { places.append((dice.below(topics), Int32(dice.below(partitions)))) }
        let span = Int(UInt64.seconds(8))
        times = (0..<count).map { _ in UInt64(dice.below(span)) }.sorted()
        if dice.chance(300) {
            // A backlog instead of a trickle.
            for index in times.indices { times[index] /= 20 }
        }
        let strange = dice.pick([0, 60, 200])
        for _ in 0..<count {
            let recipient = dice.below(recipients)
            var event = SimulatedEvent(
                recipient: Int32(recipient), topic: places[recipient].topic, partition: places[recipient].partition)
            switch dice.below(10) {
            case 0: event.operation = nil
            case 1: event.operation = .set(Int32(dice.below(5)))
            default: event.operation = .add(Int32(dice.between(-1...3)))
            }
            if dice.chance(strange) { makeStrange(&event, &dice) }
            self.events.append(event)
            gaps.append(
                dice.chance(50) ? Int64(dice.between(1...20)) : dice.chance(5) ? Int64(dice.between(200...90_000)) : 0)
        }
    }

    private func makeStrange(_ event: inout SimulatedEvent, _ dice: inout Dice) {
        switch dice.below(10) {
        case 0...3:
            event.behaviour = .suspended
            event.delay = dice.between(.milliseconds(1)...(.milliseconds(dice.chance(800) ? 50 : 1400)))
        case 4:
            event.behaviour = .late
            event.delay = dice.chance(500) ? .max : dice.between(.milliseconds(1490)...(.milliseconds(2500)))
        case 5: event.behaviour = .deadLetter
        case 6: event.behaviour = .dropped
        case 7, 8: event.behaviour = .refusedByBrokers
        default: event.behaviour = .refusedByClient
        }
    }

    private mutating func pauseIntake() {
        var dice = Dice(seed: seed ^ 0x9a05_e000)
        settings.intakePause = .milliseconds(dice.pick([0, 1, 20]))
    }

    private mutating func refuseLetters() {
        var dice = Dice(seed: seed ^ 0x1e77_e500)
        for index in events.indices where events[index].mayBeLetter {
            events[index].letterRefuser = dice.pick([nil, nil, .brokers, .client])
        }
    }

    /// A new fault draws from its own `Dice` (`seed ^ constant`), never from an existing one: every known seed would
    /// otherwise play another run.
    private mutating func makeFaults(_ count: Int, _ dice: inout Dice) {
        for _ in 0..<count {
            let time = UInt64.milliseconds(300) + UInt64(dice.below(Int(UInt64.seconds(9))))
            faults.append((time, makeFault(&dice)))
        }
        var rare = Dice(seed: seed ^ 0x7a7e_0000)
        if count > 0 {
            settings.metadataLimit = rare.pick([OffsetMetadata.limit, OffsetMetadata.limit, 64, 72, 100])
            for _ in 0..<rare.pick([0, 2, 4]) {
                let time = UInt64.milliseconds(300) + UInt64(rare.below(Int(UInt64.seconds(9))))
                let fault = makeRareFault(&rare)
                faults.append((time, fault))
                // Without acknowledgments a transaction stays open for long, and the partitions are lost during it.
                guard case .expel = fault, rare.chance(700) else { continue }
                let away = Fault.brokerAway(number: rare.below(3), time: rare.between(.seconds(1)...(.seconds(3))))
                faults.append((time - .milliseconds(100), away))
            }
            if isStatic { orphan(&rare) }
            if rare.chance(100) { crowd(&rare) }
            if rare.chance(150) {
                // A transaction covers all of its partitions: without the changelog of one it never completes.
                let topic = isExactlyOnce || rare.chance(500) ? rare.below(topics) : Topics.changelog
                leaderless = (topic, rare.below(partitions))
            }
            var disks = Dice(seed: seed ^ 0xd15c_0fff)
            settings.writeBehindInterval = disks.pick([.seconds(10), .seconds(1), .milliseconds(200)])
            makeLateFaults()
            loseRecords()
            stopOutputs()
            addPartitions()
            denyCommits()
            loseReports()
        }
        faults.sort { $0.time < $1.time }
        guard count > 0, dice.chance(200) else { return }
        late = min(40, events.count / 4)
        var forgets = Dice(seed: seed ^ 0xf0_46e7)
        guard settings.reset == .error || !forgets.chance(250) else { return sequel = .forgotten }
        // A recreated topic loses its committed offsets: other reset rules would skip what it holds.
        guard settings.reset == .earliest else { return }
        var other = Dice(seed: seed ^ 0x5e9_0e1)
        sequel = other.chance(500) ? .replaced : .madeAnew
        removePartitions()
    }

    /// Further faults, drawn from a sequence of their own.
    private mutating func makeLateFaults() {
        var dice = Dice(seed: seed ^ 0x1a7e_0000)
        for _ in 0..<dice.pick([0, 1, 3]) {
            let time = UInt64.milliseconds(300) + UInt64(dice.below(Int(UInt64.seconds(9))))
            faults.append((time, makeLateFault(&dice)))
        }
        transactionTimeout = dice.pick([.seconds(10), .seconds(6), .seconds(3)])
        // A shard asks again after 45 s, most of the minute that the other partitions have while one has no leader.
        switches.unanswered = leaderless == nil ? dice.pick([0, 20]) : 0
        addUpstream(&dice)
        // Enough late events that most changelogs continue, and most accounts do not.
        if dice.chance(600) { late = min(12, events.count / 4) }
    }

    private mutating func loseReports() {
        settings.reportPatience = .nanoseconds(Int64(transactionTimeout * 2 + .seconds(1)))
        var dice = Dice(seed: seed ^ 0x10_5ef0)
        guard isExactlyOnce, dice.chance(50) else { return }
        let time = UInt64.milliseconds(300) + UInt64(dice.below(Int(UInt64.seconds(9))))
        faults.append((time, .loseReports(instance: dice.below(instances))))
    }

    private func makeLateFault(_ dice: inout Dice) -> Fault {
        let instance = dice.below(instances)
        let moment = dice.pick(Interruption.Moment.allCases)
        let isAfter = dice.chance(500)
        switch isExactlyOnce ? dice.below(6) : dice.below(2) {
        case 0: return .powerLoss(instance: instance, away: dice.between(.milliseconds(5)...(.milliseconds(2000))))
        case 1, 2: return .coordinatorMoves
        case 5:
            return .killInRequest(instance: instance, late: dice.between(.milliseconds(1)...(.milliseconds(4000))))
        case 3: return .killInTransaction(instance: instance, moment, isAfter: isAfter)
        default:
            return .freezeInTransaction(
                instance: instance, moment, isAfter: isAfter,
                time: dice.between(.milliseconds(100)...(.milliseconds(6000))))
        }
    }

    /// At the end a new member makes another one give back partitions, and that one is killed meanwhile.
    private mutating func orphan(_ dice: inout Dice) {
        guard dice.chance(150) else { return }
        let instance = dice.below(instances)
        let time = UInt64.milliseconds(9300)
        let after = dice.between(.microseconds(10)...(.milliseconds(40)))
        faults.append((time, .killInRevocation(instance: instance, after: after)))
        let other = Fault.kill(
            instance: (instance + 1) % instances, away: .milliseconds(20), isNew: false, losesDisk: false, shards: 3)
        faults.append((time + .milliseconds(1), other))
    }

    /// Many hanging events in few partitions: what is done beyond them hardly fits into a commit.
    private mutating func crowd(_ dice: inout Dice) {
        settings.metadataLimit = 64
        settings.maxInFlight = max(settings.maxInFlight, 200)
        for index in events.indices {
            events[index].partition = events[index].recipient % 2
            times[index] /= 10
            gaps[index] = dice.chance(150) ? Int64(dice.between(1...2000)) : 0
            guard dice.chance(250), events[index].behaviour == .immediate else { continue }
            events[index].behaviour = .suspended
            events[index].delay = dice.between(.milliseconds(20)...(.milliseconds(1400)))
        }
    }

    private func makeRareFault(_ dice: inout Dice) -> Fault {
        let instance = dice.below(instances)
        switch dice.below(4) {
        case 0:
            return .expire(
                topic: dice.below(topics), partition: dice.below(partitions),
                age: dice.between(.milliseconds(1)...(.milliseconds(4000))))
        case 1:
            return .freezeInTransaction(
                instance: instance, .addOffsets, isAfter: false,
                time: dice.between(.milliseconds(1000)...(.milliseconds(6000))))
        case 2: return .expel(instance: instance)
        default:
            return .brokerAway(number: dice.below(3), time: dice.between(.milliseconds(300)...(.milliseconds(3000))))
        }
    }

    func makeFault(_ dice: inout Dice) -> Fault {
        let instance = dice.below(instances)
        let shards = dice.chance(800) ? self.shards : dice.between(1...3)
        switch dice.below(100) {
        case 0..<22:
            return .kill(
                instance: instance,
                away: dice.between(.milliseconds(5)...(.milliseconds(dice.pick([100, 1000, 5000])))),
                isNew: dice.chance(200), losesDisk: dice.chance(250), shards: shards)
        case 22..<26: return .zombie(instance: instance, frozen: dice.between(.milliseconds(200)...(.seconds(5))))
        case 26..<44:
            return .freeze(
                instance: instance,
                time: dice.between(.milliseconds(10)...(.milliseconds(dice.pick([200, 1400, 3500, 6000])))))
        case 44..<56: return .restart(instance: instance, shards: shards)
        case 56..<64: return .cut(instance: instance, time: dice.between(.milliseconds(50)...(.seconds(5))))
        case 64..<70:
            return .clock(instance: instance, milliseconds: Int64(dice.pick([-7_200_000, -1000, 0, 2000, 7_200_000])))
        case 70..<84:
            let topic = dice.pick([0, Topics.output, Topics.letters, Topics.changelog, topics - 1])
            return .leaderAway(
                topic: topic, partition: dice.below(partitions), time: dice.between(.milliseconds(50)...(.seconds(4))))
        case 84..<88: return .outage(time: dice.between(.milliseconds(100)...(.seconds(4))))
        case 88..<95: return .storm(instance: instance, time: dice.between(.milliseconds(100)...(.seconds(2))))
        case 95..<98: return .compact
        default: return .diskFails(instance: instance)
        }
    }
}
