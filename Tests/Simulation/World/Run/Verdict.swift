import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillStages

/// What must hold: checked whenever something is stored or committed, and after the run.
final class Verdict: ClusterWitness, PortsWitness {
    /// Milliseconds from an event's arrival to its output's. The median may not exceed it.
    private static let usualWait: UInt64 = 20

    private struct Case {
        var offset: Int64 = -1
        var isProduced = false
        var producedAt: UInt64 = 0
        var isDropped = false
        /// Committed, by a position's offset or its metadata.
        var isCovered = false
        var firstBegun: UInt64 = .max
        /// When each of its outputs was stored, and in which transaction.
        var stored: [(time: UInt64, transaction: Int)] = []
        /// Retention or an election dropped it before the group committed it; or it has the offset of another record,
        /// which brokers have lost, and may be taken for that one.
        var isExpired = false
        /// Brokers have lost an output of this event.
        var isOutputLost = false
        /// Its log has lost its end, or is read again: reading may resume before this event.
        var mayRepeat = false
        /// Its log was recreated or truncated, or its commit forgotten.
        var isPast = false
        var isBegunByStranger = false
    }

    private(set) var findings: [String] = []
    /// The format versions seen in commits and in the changelog's counts: `commit 1`, `count 2`.
    private(set) var formats: Set<String> = []
    private(set) var produced = 0
    private(set) var uncommitted = 0
    /// How many events are published and not committed.
    private var exposed = 0
    private let scenario: Scenario
    private let isCalm: Bool
    private unowned let cluster: Cluster
    private var cases: [Case]
    private var troubles: [UInt64] = []
    private var postponements: [Int] = []
    /// The former ends of logs that lost records, by topic and partition. Counts of these partitions are unknown.
    private var losses: [(topic: Int, partition: Int32, end: Int64)] = []
    private var cutChangelogs = CutChangelogs()
    /// How long events took whose stages do not wait, in runs without faults.
    private var waits: [UInt64] = []

    init(_ scenario: Scenario, _ cluster: Cluster) {
        self.scenario = scenario
        isCalm = scenario.isCalm
        self.cluster = cluster
        cases = Array(repeating: Case(), count: scenario.events.count)
    }

    func found(_ what: String) {
        guard findings.count < 5 else { return }
        findings.append(what)
    }

    // MARK: The input

    /// An earlier event of the same partition still waits to be produced.
    func hasEarlier(_ index: Int) -> Bool {
        postponements.contains { earlier in
            earlier < index && scenario.events[earlier].partition == scenario.events[index].partition
                && scenario.events[earlier].topic == scenario.events[index].topic
        }
    }

    func postponed(_ index: Int) { if !postponements.contains(index) { postponements.append(index) } }

    func producing(_ index: Int, at offset: Int64) {
        postponements.removeAll { $0 == index }
        cases[index].offset = offset
        cases[index].isProduced = true
        cases[index].producedAt = cluster.timeline.now
        produced += 1
        let event = scenario.events[index]
        if losses.contains(where: { $0.topic == event.topic && $0.partition == event.partition && offset < $0.end }) {
            // The offset was another record's: the engine may take it for done, or notice late and read the log again.
            cases[index].isExpired = true
            cases[index].mayRepeat = true
        } else {
            uncommitted += 1
        }
    }

    /// What brokers acknowledged and lost need not be delivered or known. Everything else must still hold.
    func loses(_ log: PartitionLog, from offset: Int64) {
        trouble()
        losses.append((log.topic, log.partition, log.end))
        for entry in log.entries[log.index(of: offset)...] {
            if case .output(let value) = entry.content, value.event >= 0 { cases[Int(value.event)].isOutputLost = true }
        }
        for index in cases.indices where cases[index].isProduced {
            let event = scenario.events[index]
            guard event.topic == log.topic, event.partition == log.partition else { continue }
            cases[index].isPast = true
            cases[index].mayRepeat = true
            guard cases[index].offset >= offset, !cases[index].isCovered, !cases[index].isExpired else { continue }
            cases[index].isExpired = true
            uncommitted -= 1
        }
    }

    /// A changelog loses its end, and its owner stays.
    func losesCounts(_ log: PartitionLog, from offset: Int64) {
        trouble()
        cutChangelogs.add(log, from: offset)
    }

    /// What a cut changelog lacks is known to its owner alone.
    func ownersChanged() {
        for partition in cutChangelogs.partitions { losses.append((Topics.changelog, partition, 0)) }
    }

    func noticedLoss(ofCounts partition: Int32) { cutChangelogs.noticed(partition) }

    private func hasLostCounts(_ partition: Int32) -> Bool {
        losses.contains { $0.partition == partition && ($0.topic < Topics.inputs || $0.topic == Topics.changelog) }
    }

    func logsMadeAnew(isReadAgain: Bool) {
        for index in cases.indices where cases[index].isProduced {
            cases[index].isPast = true
            cases[index].mayRepeat = cases[index].mayRepeat || isReadAgain
            // A late commit may have taken back what was committed before the logs were recreated.
            guard !cases[index].isCovered, !cases[index].isExpired, isDone(index) else { continue }
            cases[index].isCovered = true
            uncommitted -= 1
            exposed -= 1
        }
    }

    /// True if the first `count` events, without those of the partition, are committed or expired.
    func isDone(through count: Int, without partition: Int32) -> Bool {
        (0..<count).allSatisfy {
            scenario.events[$0].partition == partition || cases[$0].isCovered || cases[$0].isExpired
        }
    }

    /// What the log has dropped need not be delivered.
    func expired(_ log: PartitionLog) {
        for index in cases.indices where cases[index].isProduced && !cases[index].isCovered && !cases[index].isExpired {
            let event = scenario.events[index]
            guard event.topic == log.topic, event.partition == log.partition, cases[index].offset < log.start else {
                continue
            }
            cases[index].isExpired = true
            uncommitted -= 1
        }
        trouble()
    }

    private func isLostToRetention(_ recipient: Int) -> Bool {
        scenario.events.indices.contains {
            cases[$0].isExpired && scenario.events[$0].recipient == Int32(recipient)
        }
    }

    var firstUncommitted: String {
        guard let index = cases.firstIndex(where: { $0.isProduced && !$0.isCovered && !$0.isExpired }) else {
            return "none"
        }
        let event = scenario.events[index]
        return "event \(index) at \(event.topic)/\(event.partition)/\(cases[index].offset), "
            + "\(event.behaviour), stored \(cases[index].stored.count) times"
    }

    // MARK: Looking on

    func trouble() { troubles.append(cluster.timeline.now) }

    func expelled() { trouble() }

    func troubled(_ what: String, by ports: SimulatedPorts) {
        if isCalm { found("shard \(ports.number): \(what), and nothing had happened") }
        trouble()
    }

    func broken(_ what: String, by ports: SimulatedPorts) { found("shard \(ports.number): \(what)") }

    func begun(_ event: Int32, by ports: SimulatedPorts) {
        let index = Int(event)
        cases[index].firstBegun = min(cases[index].firstBegun, cluster.timeline.now)
        let partition = cluster.partitions[scenario.events[index].topic][Int(scenario.events[index].partition)]
        guard let member = ports.membership, !member.hasNewMemberID, cluster.group.isOwner(member.id, of: partition)
        else {
            // The group took the partition from the member, maybe to return it. The member could not know that yet.
            cases[index].isBegunByStranger = true
            return
        }
        guard cases[index].isCovered, !cases[index].isPast else { return }
        found("event \(event) at \(partition)/\(cases[index].offset) was taken again, though it is committed")
    }

    func dropped(_ event: Int32) { cases[Int(event)].isDropped = true }

    func stored(_ entry: PartitionLog.Entry, in log: PartitionLog) {
        if case .change(let key, let value) = entry.content {
            cluster.timeline.history.tell(
                cluster.timeline.now, log.identity,
                "\(entry.offset) counts \(String(decoding: value ?? [], as: UTF8.self)) for \(key)")
            let isHidden = cutChangelogs.isHidden(by: entry, in: log.partition) { transaction in
                cluster.transactions.outcome(of: transaction) == .committed
            }
            if isHidden { losses.append((Topics.changelog, log.partition, 0)) }
        }
        guard case .output(let value) = entry.content, value.event >= 0 else { return }
        let index = Int(value.event)
        let time = cluster.timeline.now
        cluster.timeline.history.tell(time, log.identity, "\(entry.offset) is of event \(index), badge \(value.badge)")
        cases[index].stored.append((entry.time, entry.transaction))
        if cases[index].stored.count == 1, !cases[index].isCovered { exposed += 1 }
        checkTime(of: index)
        checkExposed()
        guard !scenario.isExactlyOnce, cases[index].stored.count > 1, !cases[index].mayRepeat else { return }
        let begun = cases[index].firstBegun
        if !cases[index].isBegunByStranger, !troubles.contains(where: { $0 >= begun }) {
            found("event \(index) was published twice, and nothing had happened")
        }
    }

    /// Without faults an event is published within its deadline plus half a second, counted from its turn, and within
    /// twice that from its arrival. It is committed soon after.
    private func checkTime(of index: Int) {
        guard isCalm, scenario.faults.isEmpty else { return }
        let now = cluster.timeline.now
        let took = now - cases[index].producedAt
        let ran = now - min(now, cases[index].firstBegun)
        if scenario.events[index].behaviour == .immediate { waits.append(took) }
        let limit = scenario.switches.deadline + .milliseconds(500)
        guard Duration.nanoseconds(ran) > limit || Duration.nanoseconds(took) > limit * 2 else { return }
        found(
            "event \(index) was published \(took / 1_000_000) ms after it came, \(ran / 1_000_000) ms after its turn, "
                + "and nothing had happened")
    }

    /// At least once, a crash of all instances would repeat what is published and not committed. While answers come,
    /// that is no more than may be in flight.
    private func checkExposed() {
        guard troubles.isEmpty, !scenario.isExactlyOnce else { return }
        guard scenario.network.lost == 0, scenario.network.stray == 0 else { return }
        let limit = scenario.settings.maxInFlight * scenario.instances * scenario.shards
        if exposed > limit { found("\(exposed) events are published and not committed") }
    }

    private func checkTime(ofCommitting index: Int) {
        guard isCalm, scenario.faults.isEmpty, let stored = cases[index].stored.first?.time else { return }
        let took = cluster.timeline.now - stored
        guard took > .seconds(1) else { return }
        found("event \(index) was committed \(took / 1_000_000) ms after it was published, and nothing had happened")
    }

    private func isDone(_ index: Int) -> Bool {
        cases[index].isDropped
            || cases[index].stored.contains {
                $0.transaction == 0 || cluster.transactions.outcome(of: $0.transaction) == .committed
            }
    }

    /// Checks that nothing is committed that was not acknowledged.
    func committed(_ positions: [Position], transaction: Int) {
        for position in positions {
            guard let log = cluster.log(position.partition) else { continue }
            var beyond: [Range<Int64>] = []
            if let metadata = try? OffsetMetadata(decoding: position.metadata, committedAt: position.offset) {
                beyond = metadata.completed
                formats.insert("commit \(position.metadata.dropFirst(3).prefix(1))")
            } else if !position.metadata.isEmpty {
                found("the metadata of \(position) cannot be read")
            }
            for entry in log.entries {
                guard case .event(let event) = entry.content else { continue }
                let isCovered = entry.offset < position.offset || beyond.contains { $0.contains(entry.offset) }
                cover(Int(event), isCovered, position)
            }
        }
    }

    private func cover(_ index: Int, _ isCovered: Bool, _ position: Position) {
        guard isCovered != cases[index].isCovered, !cases[index].isExpired else { return }
        cases[index].isCovered = isCovered
        uncommitted += isCovered ? -1 : 1
        if !cases[index].stored.isEmpty { exposed += isCovered ? -1 : 1 }
        if isCovered { checkTime(ofCommitting: index) }
        if isCovered, !isDone(index) {
            found("event \(index) at offset \(cases[index].offset) is committed by \(position) and was not published")
        }
    }

    /// Called after each turn.
    func check(_ ports: SimulatedPorts) {
        if ports.lent > scenario.settings.maxInFlight + 300 {
            found("shard \(ports.number) holds \(ports.lent) messages")
        }
    }

    // MARK: When all has ended

    func judge() {
        var appearances: [[OutputValue]] = Array(repeating: [], count: 64)
        var counts = [Int](repeating: 0, count: cases.count)
        for topic in [Topics.output, Topics.letters] {
            for log in cluster.logs[topic] {
                if log.lastStable < log.end {
                    found("a transaction is open in \(cluster.topics[topic])/\(log.partition)")
                }
                for entry in log.entries where log.isVisible(entry) {
                    guard case .output(let value) = entry.content, value.event >= 0 else { continue }
                    counts[Int(value.event)] += 1
                    if value.isLetter, !scenario.events[Int(value.event)].mayBeLetter {
                        found("event \(value.event) became a dead letter, and nothing was wrong with it")
                    }
                    if counts[Int(value.event)] == 1, !value.isLetter {
                        appearances[Int(value.recipient)].append(value)
                    }
                }
            }
        }
        for (index, each) in cases.enumerated() where each.isProduced && !each.isDropped {
            if counts[index] == 0, !each.isExpired, !each.isOutputLost { found("event \(index) was lost") }
            if counts[index] > 1, scenario.isExactlyOnce, !each.mayRepeat { found("event \(index) was doubled") }
        }
        for recipient in appearances.indices { judge(recipient, appearances[recipient]) }
        let median = waits.isEmpty ? 0 : waits.sorted()[waits.count / 2]
        if median > .milliseconds(Self.usualWait) {
            found("half of the events took more than \(median / 1_000_000) ms, and nothing had happened")
        }
    }

    private func judge(_ recipient: Int, _ appearances: [OutputValue]) {
        var badges: [Int32: Int32] = [:]
        var count: Int32 = 0
        var last: Int32 = -1
        // Event numbers follow the order in each partition.
        for index in scenario.events.indices where scenario.events[index].recipient == Int32(recipient) {
            let event = scenario.events[index]
            if event.isCounted, let operation = event.operation {
                count = operation.applied(to: count)
                badges[Int32(index)] = count
            }
        }
        // Nobody knows whether events that the log dropped had been counted.
        let partition = scenario.events.first { $0.recipient == Int32(recipient) }?.partition ?? 0
        let isPartlyLost = isLostToRetention(recipient) || hasLostCounts(partition)
        for value in appearances {
            // A former owner may still publish what the log has lost, and no other shard knows.
            let isAgain = cases[Int(value.event)].isOutputLost
            if value.event < last, !cases[Int(value.event)].isExpired, !isAgain {
                found("event \(value.event) overtook event \(last) of recipient \(recipient)")
            }
            last = max(last, value.event)
            let right = badges[value.event] ?? -1
            if value.badge != right, !isPartlyLost, !isAgain {
                found("event \(value.event) of recipient \(recipient) shows \(value.badge) instead of \(right)")
            }
        }
        let name = withUnsafeBytes(of: SimulatedPorts.accountName(of: Int32(recipient))) { Array($0) }
        let kept = self.last(name, partition).count
        if kept != count, !isPartlyLost, kept != 0 || !cutChangelogs.nameless.contains(name) {
            found("the changelog says \(kept) of recipient \(recipient) instead of \(count)")
        }
    }

    /// The offset at which the changelog says what record the log has; nil if it names none.
    func mark(_ partition: Int32) -> Int64? {
        let mark = last([0, 0, 0, 0], partition)
        return mark.count > 0 ? mark.offset : nil
    }

    /// What the changelog says of the account at the highest incarnation and offset.
    private func last(_ account: [UInt8], _ partition: Int32) -> (offset: Int64, count: Int32) {
        let log = cluster.logs[Topics.changelog][Int(partition)]
        var best: (incarnation: Int64, offset: Int64, count: Int32) = (-1, -1, 0)
        for entry in log.entries where log.isVisible(entry) {
            guard case .change(let key, let value) = entry.content, key == account else { continue }
            let isNext = value?.first == UInt8(ascii: "v")
            formats.insert("count \(isNext ? 2 : 1)")
            let parts = (value ?? []).split(separator: UInt8(ascii: " ")).dropFirst(isNext ? 1 : 0).map { part in
                part.reduce(Int64(0)) { $0 * 10 + Int64($1 & 15) }
            }
            let count = parts.isEmpty ? 0 : Int32(truncatingIfNeeded: parts[0])
            let (offset, incarnation) = (parts.count > 1 ? parts[1] : -1, parts.count > 2 ? parts[2] : 0)
            if (incarnation, offset) >= (best.incarnation, best.offset) { best = (incarnation, offset, count) }
        }
        return (best.offset, best.count)
    }
}
