import PushmillEngine

/// Faults of logs at their brokers.
extension Scenario {
    mutating func addUpstream(_ dice: inout Dice) {
        for _ in 0..<dice.pick([0, 0, 2, 10]) {
            let time = UInt64.milliseconds(300) + UInt64(dice.below(Int(UInt64.seconds(9))))
            let open = Fault.upstream(
                topic: dice.below(topics), partition: dice.below(partitions), records: dice.between(1...30),
                time: dice.between(.milliseconds(1)...(.milliseconds(dice.pick([20, 500, 5000])))))
            faults.append((time, open))
        }
    }

    mutating func loseRecords() {
        var dice = Dice(seed: seed ^ 0x105e_0000)
        guard dice.chance(200) else { return }
        for _ in 0..<dice.between(1...3) {
            let time = UInt64.milliseconds(300) + UInt64(dice.below(Int(UInt64.seconds(9))))
            let topic = dice.pick([0, Topics.output, Topics.letters, Topics.changelog])
            faults.append(
                (time, .lose(topic: topic, partition: dice.below(partitions), records: dice.pick([1, 3, 10, 100]))))
        }
    }

    /// A partition that is written to has no leader for 6 to 20 seconds, which may exceed a transaction's timeout.
    mutating func stopOutputs() {
        var dice = Dice(seed: seed ^ 0x0a7e_0000)
        guard dice.chance(100) else { return }
        let start = dice.between(.seconds(1)...(.seconds(8)))
        let time = dice.between(.seconds(6)...(.seconds(20)))
        let topic = dice.pick([Topics.output, Topics.output, Topics.letters, Topics.changelog])
        faults.append((start, .leaderAway(topic: topic, partition: dice.below(partitions), time: time)))
        healsAfter = start + time
    }

    mutating func denyCommits() {
        var dice = Dice(seed: seed ^ 0xdec_0000)
        for _ in 0..<dice.pick([0, 0, 0, 0, 0, 0, 0, 1, 2]) {
            let time = dice.between(.milliseconds(300)...(.seconds(9)))
            let denial = Fault.deny(
                topic: dice.below(topics), partition: dice.below(partitions),
                time: dice.between(.milliseconds(100)...(.seconds(5))))
            faults.append((time, denial))
        }
    }

    /// Other reset rules would skip what such a partition holds before it is read for the first time.
    mutating func addPartitions() {
        var dice = Dice(seed: seed ^ 0xadd_0000)
        guard settings.reset == .earliest, dice.chance(150) else { return }
        added = dice.between(1...4)
        let time = dice.between(.milliseconds(300)...(.seconds(8)))
        faults.append((time, .grow(later: dice.pick([0, dice.between(.milliseconds(1)...(.seconds(4)))]))))
    }

    /// The input is recreated with fewer partitions: late events go to those that are left.
    mutating func removePartitions() {
        var dice = Dice(seed: seed ^ 0x2e_30fe)
        guard sequel == .madeAnew, added == 0, dice.chance(700) else { return }
        let count = dice.between(1...4)
        let others = events.filter { $0.partition < partitions - count }
        guard !others.isEmpty else { return }
        removed = count
        for index in events.indices.suffix(late) where events[index].partition >= partitions - count {
            let other = dice.pick(others)
            (events[index].recipient, events[index].partition) = (other.recipient, other.partition)
        }
    }

    mutating func cutCounts() {
        var dice = Dice(seed: seed ^ 0xc07_c0075)
        guard sequel == .none, late > 0, dice.chance(400) else { return }
        sequel = .cutCounts
        // A cut log is told from a recreated one by the clocks of its writers.
        faults.removeAll { if case .clock = $0.fault { true } else { false } }
    }

    /// Most runs have no faults but those before the sequel.
    mutating func harmSequel() {
        var dice = Dice(seed: seed ^ 0x5e9_fa17)
        guard late > 0, !faults.isEmpty, dice.chance(500) else { return }
        for _ in 0..<dice.between(1...4) {
            let isWithEvents = dice.chance(700)
            let time = dice.between(0...(isWithEvents ? .milliseconds(500) : UInt64.seconds(4)))
            lateFaults.append((isWithEvents, time, sequel == .cutCounts ? makeTrouble(&dice) : makeFault(&dice)))
        }
    }

    /// A fault that usually leaves partitions to their owners.
    private func makeTrouble(_ dice: inout Dice) -> Fault {
        let instance = dice.below(instances)
        if isExactlyOnce, dice.chance(500) { return .timeOut(instance: instance) }
        switch dice.below(isExactlyOnce ? 7 : 5) {
        case 0:
            return .leaderAway(
                topic: dice.pick([Topics.output, Topics.letters, Topics.changelog]), partition: dice.below(partitions),
                time: dice.between(.milliseconds(50)...(.seconds(4))))
        case 1:
            return .brokerAway(number: dice.below(3), time: dice.between(.milliseconds(100)...(.milliseconds(2000))))
        case 2: return .freeze(instance: instance, time: dice.between(.milliseconds(10)...(.milliseconds(1000))))
        case 3: return .storm(instance: instance, time: dice.between(.milliseconds(100)...(.milliseconds(800))))
        case 4: return .coordinatorMoves
        case 5: return .loseReports(instance: instance)
        default:
            return .freezeInTransaction(
                instance: instance, dice.pick(Interruption.Moment.allCases), isAfter: dice.chance(500),
                time: dice.between(.milliseconds(10)...(.milliseconds(1000))))
        }
    }
}
