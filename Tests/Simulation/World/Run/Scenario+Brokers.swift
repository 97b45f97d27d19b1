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
        // A cut log is told from a recreated one by the clocks of its writers.
        let hasWrongClocks = faults.contains { if case .clock = $0.fault { true } else { false } }
        if sequel == .none, late > 0, !hasWrongClocks, dice.chance(400) { sequel = .cutCounts }
    }
}
