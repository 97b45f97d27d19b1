import PushmillEngine
import PushmillKafka

extension Run {
    func inject(_ fault: Fault) {
        guard verdict.findings.isEmpty else { return }
        timeline.history.tell(timeline.now, -1, "\(fault)")
        switch fault {
        case .kill(let index, let away, let isNew, let losesDisk, let shards):
            let instance = instances[index]
            kill(instance)
            if isNew { instance.identity = nextIdentity() }
            if losesDisk { instance.loseDisk(cluster) }
            instance.shards = shards
            start(instance, after: away)
        case .powerLoss(let index, let away):
            let instance = instances[index]
            kill(instance)
            instance.losePower(&timeline.dice)
            start(instance, after: away)
        case .killInTransaction(let index, let moment, let isAfter):
            let (instance, node) = (instances[index], instances[index].node)
            node.interruption = Interruption(moment: moment, isAfter: isAfter, happen: killing(instance))
        case .killInRequest(let index, let late):
            let (instance, node) = (instances[index], instances[index].node)
            node.dying = (late, killing(instance))
        case .killInRevocation(let index, let time): killInRevocation(instances[index], after: time)
        case .restart(let index, let shards): restart(instances[index], shards)
        case .zombie(let index, let frozen): replaceFrozen(instances[index], frozen)
        case .freeze(let index, let time): freeze(instances[index].node, for: time)
        case .freezeInTransaction(let index, let moment, let isAfter, let time):
            let node = instances[index].node
            node.interruption = Interruption(moment: moment, isAfter: isAfter) { [unowned self, weak node] in
                if let node { freeze(node, for: time) }
            }
        case .cut(let index, let time): cut(instances[index].node, for: time)
        case .storm(let index, let time): storm(instances[index].node, for: time)
        case .clock(let index, let milliseconds):
            instances[index].clockError = milliseconds
            instances[index].node.clockError = milliseconds
        case .diskFails(let index): instances[index].failDisk()
        case .expel(let index):
            verdict.trouble()
            // A process that is cut off would not hear of it, and the group would wait for its session to end.
            let node = instances[index].node
            if !node.isCut { for member in node.members { cluster.group.expel(member) } }
        case .coordinatorMoves:
            verdict.trouble()
            cluster.group.move()
        case .leaderAway(let topic, let partition, let time):
            takeLeader(of: [cluster.logs[topic][partition]], for: time)
        case .brokerAway(let number, let time):
            takeLeader(of: cluster.logs.flatMap { $0 }.filter { Int($0.partition) % 3 == number }, for: time)
        case .outage(let time): outage(time)
        case .compact: for log in cluster.logs[Topics.changelog] { log.compact(minLag: scenario.compactionLag) }
        case .expire(let topic, let partition, let age): expire(cluster.logs[topic][partition], age)
        case .lose(let topic, let partition, let count):
            let log = cluster.logs[topic][partition]
            let offset = log.border(before: count)
            verdict.loses(log, from: offset)
            log.cut(from: offset)
        case .loseReports(let index):
            verdict.trouble()
            for host in instances[index].hosts { host.ports.loseReports() }
        case .timeOut(let index):
            verdict.trouble()
            for shard in 0..<3 { cluster.transactions.timeOut("t\(instances[index].identity)-\(shard)") }
        case .upstream(let topic, let partition, let count, let time):
            openUpstreamTransaction(in: cluster.logs[topic][partition], records: count, for: time)
        case .deny(let topic, let partition, let time):
            verdict.trouble()
            cluster.group.deny(cluster.partitions[topic][partition], for: time)
            timeline.after(time) { [unowned self] in verdict.trouble() }
        case .grow(let later):
            cluster.group.grow(by: cluster.partitions[0].suffix(scenario.added))
            timeline.after(later) { [unowned self] in
                for log in addedChangelogs { (log.isLeaderAway, log.awayUntil) = (false, 0) }
            }
        }
    }

    func isRemoved(_ partition: TopicPartition) -> Bool {
        cluster.partitions[0].suffix(scenario.removed).contains(partition)
    }

    /// Brokers do not know the last partitions any more. The leader of the group learns it soon or, in this run, never.
    func removePartitions() {
        for log in cluster.logs[0].suffix(scenario.removed) { (log.isLeaderAway, log.awayUntil) = (true, .max) }
        cluster.group.offsets.denied.formUnion(cluster.partitions[0].suffix(scenario.removed))
        guard timeline.dice.chance(500) else { return }
        timeline.after(timeline.dice.between(0...UInt64.seconds(5))) { [unowned self] in
            cluster.group.shrink(by: scenario.removed)
        }
    }

    // MARK: Of processes

    func kill(_ instance: Instance) {
        verdict.trouble()
        instance.node.kill()
        for host in instance.hosts where !host.isInTurn { host.letGo() }
    }

    /// Kills the process that the instance is now, if it still is, and starts another one.
    private func killing(_ instance: Instance) -> () -> Void {
        { [unowned self, weak instance, weak node = instance.node] in
            guard let instance, instance.node === node else { return }
            kill(instance)
            start(instance, after: .milliseconds(5))
        }
    }

    private func killInRevocation(_ instance: Instance, after time: UInt64) {
        let node = instance.node
        let kill = killing(instance)
        node.atRevocation = { [unowned self, weak node] in
            node?.atRevocation = nil
            timeline.after(time) { if node?.isAlive ?? false { kill() } }
        }
        timeline.after(.seconds(5)) { [weak node] in node?.atRevocation = nil }
    }

    private func freeze(_ node: Node, for time: UInt64) {
        verdict.trouble()
        node.freeze()
        node.frozenUntil = max(node.frozenUntil, timeline.now + time)
        timeline.after(time) { [unowned self] in
            verdict.trouble()
            if timeline.now >= node.frozenUntil { node.thaw() }
        }
    }

    /// Freezes a process, and another one takes its names.
    private func replaceFrozen(_ instance: Instance, _ frozen: UInt64) {
        guard instance.node.isAlive, !instance.node.isFrozen, !instance.hosts.isEmpty else { return }
        verdict.trouble()
        instance.node.freeze()
        let zombie = Instance(index: instance.index, shards: instance.shards, cluster: cluster, seed: scenario.seed)
        zombie.node = instance.node
        zombie.hosts = instance.hosts
        zombies.append(zombie)
        // The new process is on another machine, with another folder.
        instance.loseDisk(cluster)
        start(instance, after: .milliseconds(5))
        timeline.after(frozen) { [unowned self] in
            verdict.trouble()
            zombie.node.thaw()
            timeline.after(.seconds(2)) { [unowned self] in kill(zombie) }
        }
    }

    private func restart(_ instance: Instance, _ shards: Int) {
        let node = instance.node
        guard node.isAlive, !instance.hosts.isEmpty else { return }
        timeline.note(node.number, .terminate)
        // A shard that is told twice leaves its work unfinished at once.
        if instance.isRestarting { verdict.trouble() }
        instance.isRestarting = true
        for host in instance.hosts { host.ports.terminate() }
        awaitEnd(instance, node, shards, patience: 600)
    }

    private func awaitEnd(_ instance: Instance, _ node: Node, _ shards: Int, patience: Int) {
        // The instance was killed meanwhile, and that fault starts it again.
        guard instance.node === node else { return }
        if instance.hosts.allSatisfy(\.hasEnded) {
            node.kill()
            instance.shards = shards
            return start(instance, after: .milliseconds(20))
        }
        guard patience > 0 else { return verdict.found("instance \(instance.index) did not end when it was told to") }
        timeline.after(.milliseconds(50)) { [unowned self] in
            // Time while the process is frozen, cut off or without brokers does not count.
            awaitEnd(instance, node, shards, patience: patience - (node.isReachable && !cluster.isOut ? 1 : 0))
        }
    }

    // MARK: Of the network and the brokers

    private func cut(_ node: Node, for time: UInt64) {
        verdict.trouble()
        node.setCut(true)
        node.cutUntil = max(node.cutUntil, timeline.now + time)
        timeline.after(time) { [unowned self] in
            verdict.trouble()
            if timeline.now >= node.cutUntil { node.setCut(false) }
        }
    }

    private func storm(_ node: Node, for time: UInt64) {
        let calm = node.network
        node.network.lost = 100
        node.network.slow = 200
        verdict.trouble()
        timeline.after(time) { [unowned self] in
            verdict.trouble()
            node.network = calm
        }
    }

    /// The end of one absence does not end a later one.
    private func takeLeader(of logs: [PartitionLog], for time: UInt64) {
        for log in logs {
            log.isLeaderAway = true
            log.awayUntil = max(log.awayUntil, timeline.now + time)
        }
        timeline.after(time) { [unowned self] in
            for log in logs where log.isLeaderAway && timeline.now >= log.awayUntil {
                if timeline.dice.chance(100) {
                    log.deniesUntil = timeline.now + timeline.dice.between(.milliseconds(1)...(.milliseconds(300)))
                }
                log.isLeaderAway = false
            }
        }
    }

    private func outage(_ time: UInt64) {
        verdict.trouble()
        cluster.setOut(true)
        outageChanged()
        timeline.after(time) { [unowned self] in
            verdict.trouble()
            cluster.setOut(false)
            outageChanged()
        }
    }

    private func outageChanged() {
        for instance in instances + zombies { instance.node.outageChanged() }
    }

    // MARK: Of logs

    private func expire(_ log: PartitionLog, _ age: UInt64) {
        let start = log.entries.first { $0.time + age > timeline.now }?.offset ?? log.end
        log.expire(before: start)
        verdict.expired(log)
        log.changed()
    }

    private func openUpstreamTransaction(in log: PartitionLog, records count: Int, for time: UInt64) {
        let name = "upstream \(timeline.now)"
        guard !log.isLeaderAway, !cluster.isOut,
            case .ready(let producer, let epoch) = cluster.transactions.initialize(name)
        else { return }
        let record = NewRecord(.change(key: [], value: nil))
        let batch = Batch(Array(repeating: record, count: count), producer: producer, epoch: epoch)
        _ = cluster.transactions.add(log, to: name, epoch: epoch)
        _ = cluster.transactions.append(batch, to: log, of: name)
        timeline.after(time) { [unowned self] in
            _ = cluster.transactions.end(name, epoch: epoch, commits: false)
        }
    }

    /// Waits until no partition will move, and all are restored. A shard asks again after 15 s without an answer, and may
    /// have to do so several times.
    private func isGroupCalm() -> Bool {
        for _ in 0..<3 {
            let generation = cluster.group.generation
            run(for: .seconds(40)) { false }
            let areMembers = instances.allSatisfy { instance in
                instance.hosts.count == instance.shards
                    && instance.hosts.allSatisfy { cluster.group.hasMember($0.ports.membership?.id) }
            }
            let readers = instances.flatMap(\.hosts).flatMap(\.ports.readers)
            let areRead = cluster.group.partitions.allSatisfy { partition in
                readers.contains { $0.log === cluster.log(partition) }
            }
            let isStable = cluster.group.state == .stable && cluster.group.generation == generation
            if areMembers, areRead, isStable { return true }
        }
        return false
    }

    /// Cuts the changelogs that these events will write to: their owners notice it by that.
    func cutChangelogs(of late: [SimulatedEvent]) {
        guard isGroupCalm() else { return }
        var cuts = Dice(seed: scenario.seed ^ 0xc07)
        for log in cluster.logs[Topics.changelog] {
            let isWritten = late.contains {
                $0.partition == log.partition && $0.isCounted && $0.behaviour == .immediate
            }
            let offset = log.border(before: cuts.pick([1, 3, 10, 30]))
            // Nothing tells a log that has lost all of its records from a recreated one.
            guard isWritten, let first = log.read(from: 0, limit: 1).records.first, first.offset < offset else {
                continue
            }
            timeline.history.tell(timeline.now, log.identity, "loses what comes from \(offset) on")
            verdict.losesCounts(log, from: offset)
            log.cut(from: offset)
        }
    }

    // MARK: The end of all faults

    func heal() {
        timeline.history.tell(timeline.now, -1, "everything heals")
        verdict.trouble()
        for zombie in zombies where zombie.node.isAlive { kill(zombie) }
        for instance in instances {
            (instance.node.interruption, instance.node.dying) = (nil, nil)
            instance.node.thaw()
            instance.node.setCut(false)
            instance.node.network = scenario.network
            instance.healDisk()
        }
        // What is to be added later, or is removed, stays away.
        for log in cluster.logs.joined() where log.awayUntil != .max { (log.isLeaderAway, log.awayUntil) = (false, 0) }
        if cluster.isOut {
            cluster.setOut(false)
            outageChanged()
        }
    }
}
