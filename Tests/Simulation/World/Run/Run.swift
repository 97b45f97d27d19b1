import PushmillEngine
import PushmillKafka
import PushmillStages
import PushmillStores

/// One run of a scenario: instances of the service over the simulated cluster, from the first event to the verdict.
package final class Run {
    package let scenario: Scenario
    package let timeline: Timeline
    let cluster: Cluster
    var instances: [Instance] = []
    /// Frozen processes whose names other processes have taken.
    var zombies: [Instance] = []
    private var isEnding = false
    /// When the late events began to come, after all else was done.
    private var lateSince: UInt64?
    let verdict: Verdict
    /// The depth of nested turns: while one waits for brokers, the simulation goes on inside it.
    private var depth = 0
    private var identities = 10
    private(set) var turns = 0
    static let turnLimit = 600_000
    /// The most turns of an idle shard in a simulated second.
    static let idleTurns = 40

    package init(_ scenario: Scenario, isHistoryKept: Bool = false) {
        self.scenario = scenario
        var dice = Dice(seed: scenario.seed ^ 0x5eed_0000_0000_5eed)
        timeline = Timeline(dice: dice.fork(), history: History(isKept: isHistoryKept))
        cluster = Cluster(
            timeline: timeline, topics: Topics.names, partitions: scenario.partitions, inputs: scenario.topics,
            timing: scenario.timing)
        cluster.transactions.timeout = scenario.transactionTimeout
        verdict = Verdict(scenario, cluster)
        cluster.witness = verdict
        timeline.history.name = Self.name
        cluster.group.hide(scenario.added)
        for log in addedChangelogs { (log.isLeaderAway, log.awayUntil) = (true, .max) }
    }

    /// The changelog partitions to be added, which have no leader until then.
    var addedChangelogs: ArraySlice<PartitionLog> { cluster.logs[Topics.changelog].suffix(scenario.added) }

    /// Plays the run and returns the findings; none if all is well.
    package func play() -> [String] {
        begin()
        if verdict.findings.isEmpty { produceAndHarm() }
        if verdict.findings.isEmpty { settle() }
        if verdict.findings.isEmpty { idle() }
        if verdict.findings.isEmpty { end() }
        // A transaction left open under a name that no process takes over ends at its timeout.
        if verdict.findings.isEmpty { run(for: .seconds(12)) { false } }
        if let lateSince { for log in cluster.logs[Topics.changelog] { log.compact(closedAt: lateSince) } }
        if verdict.findings.isEmpty { verdict.judge() }
        for finding in verdict.findings { timeline.history.tell(timeline.now, -1, "FINDING: \(finding)") }
        letGo()
        return verdict.findings
    }

    /// See `Verdict.formats`.
    package var formats: Set<String> { verdict.formats }

    package var simulatedSeconds: Double { Double(timeline.now) / 1e9 }

    private func letGo() {
        for instance in instances + zombies { for host in instance.hosts { host.letGo() } }
        timeline.clear()
        cluster.letGo()
    }

    // MARK: The parts of a run

    private func begin() {
        if scenario.settings.reset == .error {
            cluster.group.preset(0)
        }
        for index in 0..<scenario.instances {
            let instance = Instance(index: index, shards: scenario.shards, cluster: cluster, seed: scenario.seed)
            if index.isMultiple(of: 2) { instance.formatVersion = .next }
            instances.append(instance)
            start(instance, after: timeline.dice.between(0...UInt64.milliseconds(100)))
        }
        guard scenario.settings.reset == .latest else { return }
        // With this rule, events that come before the group has begun in their partition would rightly be skipped. If
        // an answer is lost here, it is missing for as long as a rebalance may take.
        run(for: .seconds(60)) { self.cluster.group.hasCommittedAll }
        if !cluster.group.hasCommittedAll { verdict.found("the group did not begin") }
    }

    private func produceAndHarm() {
        let start = timeline.now
        let early = scenario.events.count - scenario.late
        for index in 0..<early {
            timeline.at(start + scenario.times[index]) { [unowned self] in produce(index) }
        }
        for (time, fault) in scenario.faults { timeline.at(start + time) { [unowned self] in inject(fault) } }
        let last = max(scenario.times[early - 1], scenario.faults.last?.time ?? 0, scenario.healsAfter)
        run(for: last + .milliseconds(1)) { false }
    }

    /// Everything heals, and all events must be done within a bound. The sequel may follow, such as recreated logs.
    private func settle() {
        heal()
        let early = scenario.events.count - scenario.late
        if let (topic, partition) = scenario.leaderless {
            getOn(without: cluster.logs[topic][partition], through: early)
        }
        guard drain(through: early), scenario.late > 0 else { return }
        run(for: .seconds(2)) { false }
        let (isReplaced, isForgotten) = (scenario.sequel == .replaced, scenario.sequel == .forgotten)
        if isReplaced || isForgotten { killAll() }
        if scenario.sequel == .cutCounts { cutChangelogs(of: Array(scenario.events[early...])) }
        let isNone = scenario.sequel == .none || scenario.sequel == .cutCounts
        // What was done beyond a hanging event may lie beyond the end of a log that lost it, and stays committed.
        let begun = isNone ? [] : isForgotten ? cluster.group.partitions : cluster.group.begun.filter { !isRemoved($0) }
        let marks = (0..<scenario.partitions).map { verdict.mark(Int32($0)) }
        if scenario.sequel == .madeAnew || isReplaced {
            for topic in 0..<scenario.topics {
                for log in cluster.logs[topic] { log.cut(from: 0) }
                if scenario.settings.reset == .earliest { cluster.group.offsets.forget(topic: Topics.names[topic]) }
            }
        }
        if scenario.removed > 0 { removePartitions() }
        if !isNone { verdict.logsMadeAnew(isReadAgain: isForgotten) }
        var late = Array(early..<scenario.events.count)
        if isForgotten { cluster.group.offsets.stored = [] }
        if isReplaced { late = produceBeyond(marks, late) }
        if isReplaced || isForgotten {
            for instance in instances { start(instance, after: timeline.dice.between(0...UInt64.milliseconds(100))) }
        }
        let generation = cluster.group.generation
        harm(isWithEvents: false)
        // A shard that misses a new log until it outgrows the old one, and cannot compare records, never notices it.
        run(for: .seconds(16)) { false }
        let isNoticed = { self.cluster.group.hasCommitted(withinLogsOf: begun) }
        comeAbout(isNoticed)
        if verdict.findings.isEmpty, !isNoticed() { verdict.found("a new log was not noticed") }
        lateSince = timeline.now
        for (place, index) in late.enumerated() {
            timeline.after(UInt64(place) * .milliseconds(20)) { [unowned self] in produce(index) }
        }
        harm(isWithEvents: true)
        run(for: .seconds(1) + .milliseconds(1)) { false }
        if !scenario.lateFaults.isEmpty { heal() }
        _ = drain(through: scenario.events.count)
        // Owners read a cut changelog again, at most every ten seconds, and write what it lacks.
        if scenario.sequel == .cutCounts { run(for: .seconds(20)) { false } }
        if cluster.group.generation != generation { verdict.ownersChanged() }
    }

    private func harm(isWithEvents: Bool) {
        for each in scenario.lateFaults where each.isWithEvents == isWithEvents {
            timeline.after(each.time) { [unowned self] in inject(each.fault) }
        }
    }

    /// Kills all instances: none notices that a log is recreated, and nothing of theirs is left to be committed.
    private func killAll() {
        // An instance that is restarting comes back once more.
        while verdict.findings.isEmpty, instances.contains(where: \.node.isAlive) {
            for instance in instances { kill(instance) }
            run(for: .seconds(12)) { false }
        }
    }

    /// Makes the new logs of partitions with a mark longer than the old ones, with another record at the mark. Returns
    /// the events that are still to come.
    private func produceBeyond(_ marks: [Int64?], _ late: [Int]) -> [Int] {
        var (left, places) = ([Int](), [Int32: Int]())
        for index in late {
            let partition = scenario.events[index].partition
            let count = late.count { scenario.events[$0].partition == partition }
            guard count > 2, let mark = marks[Int(partition)], mark > 0 else {
                left.append(index)
                continue
            }
            let place = places[partition, default: 0]
            places[partition] = place + 1
            produce(index, skipping: place == 1 ? mark - 1 : place == 2 ? 100_000 : 0)
        }
        return left
    }

    /// One partition has no leader for long. Instances that start then must finish the other partitions all the same.
    private func getOn(without log: PartitionLog, through count: Int) {
        timeline.history.tell(timeline.now, -1, "without \(cluster.topics[log.topic])/\(log.partition)")
        (log.isLeaderAway, log.awayUntil) = (true, .max)
        for instance in instances {
            kill(instance)
            start(instance, after: timeline.dice.between(.milliseconds(1)...(.milliseconds(500))))
        }
        run(for: .seconds(60)) { self.verdict.isDone(through: count, without: log.partition) }
        if verdict.findings.isEmpty, !verdict.isDone(through: count, without: log.partition) {
            verdict.found("partitions that have their leaders wait for one that has none")
        }
        (log.isLeaderAway, log.awayUntil) = (false, 0)
    }

    private func drain(through count: Int) -> Bool {
        comeAbout { self.verdict.uncommitted == 0 && self.verdict.produced == count }
        if verdict.findings.isEmpty, verdict.uncommitted > 0 {
            verdict.found("not drained: \(verdict.uncommitted) are left, first \(verdict.firstUncommitted)")
        }
        return verdict.findings.isEmpty
    }

    /// Waits for the condition, up to 60 s with the losses of the scenario's network. If one answer in a hundred is
    /// lost, each may be one that a shard waits for: then another 30 s count from when no more are lost.
    private func comeAbout(_ condition: @escaping () -> Bool) {
        run(for: .seconds(60), or: condition)
        guard verdict.findings.isEmpty, !condition() else { return }
        timeline.history.tell(timeline.now, -1, "the network loses nothing more")
        for instance in instances { (instance.node.network.lost, instance.node.network.stray) = (0, 0) }
        run(for: .seconds(30), or: condition)
    }

    /// With nothing left to do, a shard that has its partitions hardly turns.
    private func idle() {
        run(for: .seconds(6)) { false }
        if cluster.group.state != .stable {
            // The group waits for a member that is gone. A static member that was renamed learns it when the wait ends.
            run(for: .seconds(30)) { self.cluster.group.state == .stable }
            guard cluster.group.state == .stable else { return verdict.found("the group does not settle") }
            run(for: .seconds(6)) { false }
        }
        // A late commit has taken back positions, and a shard reads them again.
        guard verdict.uncommitted == 0 else { return }
        let hosts = instances.flatMap(\.hosts)
        let before = hosts.map(\.turns)
        let (seconds, generation) = (UInt64(2), cluster.group.generation)
        run(for: .seconds(seconds)) { false }
        // A late rebalance is work, and so is what an expelled member does until it learns of its expulsion.
        guard cluster.group.generation == generation else { return }
        for (host, earlier) in zip(hosts, before)
        where cluster.group.hasMember(host.ports.membership?.id) && host.turns - earlier > Self.idleTurns * Int(seconds)
        {
            verdict.found("shard \(host.ports.number) turned \(host.turns - earlier) times with nothing to do")
        }
    }

    private func end() {
        run(for: .seconds(6)) { self.instances.allSatisfy { !$0.hosts.isEmpty && !$0.isRestarting } }
        isEnding = true
        for instance in instances { for host in instance.hosts { host.ports.terminate() } }
        run(for: .seconds(8)) { self.instances.allSatisfy { $0.hosts.allSatisfy(\.hasEnded) } }
        for instance in instances where !instance.hosts.allSatisfy(\.hasEnded) {
            verdict.found("instance \(instance.index) did not end")
        }
        // The last markers of transactions are written.
        run(for: .seconds(2)) { false }
    }

    func run(for time: UInt64, or condition: () -> Bool) {
        timeline.run(until: timeline.now + time) { !verdict.findings.isEmpty || condition() }
    }

    private func produce(_ index: Int, skipping gap: Int64? = nil) {
        let event = scenario.events[index]
        let log = cluster.logs[event.topic][Int(event.partition)]
        // The event's producer waits for the leader and keeps the order.
        let isThere = cluster.group.partitions.contains(cluster.partitions[event.topic][Int(event.partition)])
        guard isThere, !log.isLeaderAway, !cluster.isOut, !verdict.hasEarlier(index) else {
            verdict.postponed(index)
            return timeline.after(.milliseconds(10)) { [unowned self] in produce(index) }
        }
        log.skip(gap ?? scenario.gaps[index])
        timeline.note(log.identity, .produce, Int64(index), log.end, Int64(event.recipient))
        verdict.producing(index, at: log.end)
        _ = log.append(Batch([NewRecord(.event(Int32(index)))]))
    }

    // MARK: Instances

    func start(_ instance: Instance, after delay: UInt64) {
        if scenario.mixesReleases { instance.changeRelease(cluster) }
        instance.node = Node(cluster: cluster, number: instance.index * 10, network: scenario.network)
        instance.node.clockError = instance.clockError
        instance.hosts = []
        instance.isRestarting = false
        let node = instance.node
        node.after(delay) { [unowned self] in
            timeline.note(node.number, .start, Int64(instance.identity), Int64(instance.shards))
            instance.hosts = (0..<instance.shards).map { makeShard($0, of: instance, node) }
            guard scenario.isExactlyOnce else { return }
            // Ends what a larger number of shards left open under names that are out of use.
            for shard in instance.shards..<3 {
                _ = cluster.transactions.initialize("t\(instance.identity)-\(shard)")
            }
        }
    }

    func nextIdentity() -> Int {
        identities += 1
        return identities
    }

    private func makeShard(_ number: Int, of instance: Instance, _ node: Node) -> ShardHost {
        let identity = "\(instance.identity)-\(number)"
        var settings = scenario.settings
        if scenario.mixesReleases { settings.formatVersion = instance.formatVersion }
        let ports = SimulatedPorts(
            node, number: node.number + number, settings: settings, events: scenario.events,
            switches: scenario.switches, instance: scenario.isStatic ? "i" + identity : nil,
            transactionalName: scenario.isExactlyOnce ? "t" + identity : nil, witness: verdict
        ) { [unowned instance] in instance.file($0) }
        let host = ShardHost(ports, settings: settings)
        ports.hasNews = { [unowned self, unowned host] in
            plan(host, at: max(timeline.now + 10_000, host.busyUntil))
        }
        ports.waitFor = { [unowned self, unowned host] in wait(host, $0, $1) }
        plan(host, at: timeline.now + 1_000)
        return host
    }

    // MARK: Turns

    private func plan(_ host: ShardHost, at time: UInt64) {
        guard time < host.planned, !host.isInTurn, !host.hasEnded else { return }
        host.planned = time
        host.plan += 1
        let plan = host.plan
        host.node.after(time > timeline.now ? time - timeline.now : 0) { [unowned self, weak host] in
            guard let host, host.plan == plan else { return }
            turn(host)
        }
    }

    private func turn(_ host: ShardHost) {
        host.planned = .max
        guard host.shard != nil, !host.isInTurn, !host.hasEnded else { return }
        turns += 1
        host.turns += 1
        if turns > Self.turnLimit { return verdict.found("turns without end") }
        host.isInTurn = true
        host.ports.elapsed = 10_000
        depth += 1
        let next = host.shard?.turn() ?? .never
        depth -= 1
        host.isInTurn = false
        guard host.node.isAlive else { return host.letGo() }
        verdict.check(host.ports)
        if host.shard?.hasEnded == true { return ended(host) }
        if host.ports.isFenced { return replace(host) }
        host.busyUntil = timeline.now + host.ports.elapsed
        let wants = host.shard?.wantsRecords ?? false
        let eager = host.ports.isEager(wantsRecords: wants) ? host.busyUntil + 20_000 : .max
        plan(host, at: min(max(next.nanoseconds, host.busyUntil + 5_000), eager))
    }

    private func ended(_ host: ShardHost) {
        host.hasEnded = true
        timeline.note(host.ports.number, .ended, Int64(host.ports.lent))
        if !host.ports.hasToldEnding || !host.ports.isLeaving {
            verdict.found("shard \(host.ports.number) ended and did not say so, or did not leave the group")
        }
        if host.ports.lent != 0 {
            verdict.found("shard \(host.ports.number) ended and kept \(host.ports.lent) messages")
        }
        host.letGo()
    }

    /// The consumer cannot continue: after a while another shard takes its place, as in the service.
    private func replace(_ host: ShardHost) {
        host.hasEnded = true
        host.letGo()
        guard let instance = (instances + zombies).first(where: { $0.hosts.contains { $0 === host } }),
            let index = instance.hosts.firstIndex(where: { $0 === host })
        else { return }
        let node = host.node
        timeline.note(host.ports.number, .fenced)
        node.after(.seconds(1)) { [unowned self] in
            guard instance.node === node, !instance.isRestarting, !isEnding else { return }
            verdict.trouble()
            instance.hosts[index] = makeShard(index, of: instance, node)
        }
    }

    /// Only the outermost turn waits. Turns inside it take their steps at once.
    private func wait(_ host: ShardHost, _ time: UInt64, _ condition: () -> Bool) -> Bool {
        guard depth == 1, verdict.findings.isEmpty else { return false }
        guard time > 0 else { return true }
        timeline.run(until: timeline.now + time) {
            condition() || !host.node.isAlive || !verdict.findings.isEmpty
        }
        while host.node.isFrozen, host.node.isAlive, verdict.findings.isEmpty, timeline.step() {}
        return condition()
    }

    private static func name(_ who: Int) -> String {
        switch who {
        case ..<0: "run"
        case 0..<800: "shard \(who / 10).\(who % 10)"
        case 800: "group"
        case 900..<1000: "transactions \(who - 900)"
        default: "\(Topics.names[(who - 1000) / 100])/\(who % 100)"
        }
    }
}
