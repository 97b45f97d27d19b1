import Glibc
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Following a simulated topic of contacts")
struct ContactReadingModelTests {
    @Test("The store becomes what the topic says, and shows no earlier name", arguments: 0..<8 as Range<UInt64>)
    func short(part: UInt64) throws {
        guard getenv("PUSHMILL_SEED") == nil else { return }
        try Self.play(part * 12..<(part + 1) * 12)
    }

    @Test("Nor does it in a thousand runs", .thorough, arguments: 0..<8 as Range<UInt64>)
    func long(part: UInt64) throws { try Self.play(1_000 + part * 125..<1_125 + part * 125) }

    @Test("One seed, with its history", .enabled(if: getenv("PUSHMILL_SEED") != nil, "for a finding"))
    func one() throws {
        let first = try #require(getenv("PUSHMILL_SEED").flatMap { UInt64(String(cString: $0)) })
        let count = getenv("PUSHMILL_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 1
        try Self.play(first..<first + count, withHistory: count == 1)
    }

    /// The contacts of the first partition were hidden until those of the second had been read again.
    @Test("A topic that was cut while it was first read is ready only with all of its contacts")
    func cutMeanwhile() throws {
        let run = try ContactRun(seed: 1, withHistory: false, partitions: 2, isCoPartitioned: false)
        for partition in Int32(0)..<2 { run.write(partition, count: 8) }
        run.topic.leaderless = [0]
        while run.topic.ended[1] == nil { try run.turn() }
        try run.cut(1, at: 2)
        run.write(1, count: 20)
        run.topic.patience = .seconds(60)
        for _ in 0..<5 { try run.turn() }
        run.topic.leaderless = [1]
        while run.topic.ended[0] == nil { try run.turn() }
        expect(run.findings, is: [])
        try run.settle()
        expect(run.findings, is: [])
    }

    @Test("A topic that loses an unread partition is served without it")
    func fewer() throws {
        let run = try ContactRun(seed: 1, withHistory: false, partitions: 2, isCoPartitioned: false)
        run.topic.leaderless = [1]
        while run.topic.ended[0] == nil { try run.turn() }
        try run.recreate(partitions: 1)
        run.write(0, count: 3)
        try run.settle()
        expect(run.findings, is: [])
    }

    @Test("A partition whose open transaction brokers have lost is served after the next look")
    func lostTransaction() throws {
        let run = try ContactRun(seed: 1, withHistory: false, partitions: 1, isCoPartitioned: true)
        run.want([0])
        run.write(0, count: 3)
        let end = run.topic.logs[0].end
        run.write(0, count: 2, inTransaction: true)
        run.topic.patience = .seconds(5)
        for _ in 0..<5 { try run.turn() }
        expect(run.topic.ended[0], is: nil)
        try run.cut(0, at: end)
        try run.settle()
        expect(run.findings, is: [])
    }

    #if PLANTED_FAULTS
        private static let common: [PlantedContactFault] = [
            .logNotCompared, .oneMarkIsEnough, .openTransactionTakenForEnd, .readyBeforeEnd, .rereadInPlace,
            .positionKept,
        ]

        @Test("A common planted fault is found in at most 500 runs", arguments: common)
        func planted(fault: PlantedContactFault) throws { #expect(try Self.isFound(fault, in: 500)) }

        @Test(
            "Every other one is found in at most 5,000 runs", .search,
            arguments: Set(PlantedContactFault.allCases).subtracting(common))
        func rare(fault: PlantedContactFault) throws { #expect(try Self.isFound(fault, in: 5_000)) }

        private static func isFound(_ fault: PlantedContactFault, in runs: UInt64) throws -> Bool {
            try (0..<runs).contains { seed in
                let run = try ContactRun(seed: seed, withHistory: false)
                try PlantedContactFault.$planted.withValue(fault) { try run.play() }
                return !run.findings.isEmpty
            }
        }
    #endif

    private static func play(_ seeds: Range<UInt64>, withHistory: Bool = false) throws {
        for seed in seeds {
            let run = try ContactRun(seed: seed, withHistory: withHistory)
            try run.play()
            guard withHistory || !run.findings.isEmpty else { continue }
            if withHistory { for line in run.history { print(line) } }
            let again =
                "SWIFT_DETERMINISTIC_HASHING=1 PUSHMILL_SEED=\(seed) deploy/test --targets EngineTests --filter "
                + "ContactReadingModelTests"
            #expect(run.findings.isEmpty, "seed \(seed): \(run.findings.prefix(3)); \(again) prints its history")
        }
    }
}

extension ContactRun {
    fileprivate func play() throws {
        if random.once(in: 2) { topic.failing = random.pick([2, 10]) }
        isLong = random.once(in: 4)
        want(somePartitions)
        for _ in 0..<random.pick([20, 60, 120]) where findings.isEmpty {
            try act()
            for _ in 0..<random.pick([0, 1, 1, 2, 5]) where findings.isEmpty { try turn() }
        }
        guard findings.isEmpty else { return }
        try settle()
    }

    private var somePartition: Int32 { Int32.random(in: 0..<Int32(topic.logs.count), using: &random) }

    private var somePartitions: Set<Int32> {
        Set((0..<Int32(topic.logs.count) + 1).filter { _ in random.once(in: 2) })
    }

    private func act() throws {
        topic.patience = random.pick([.milliseconds(100), .seconds(1), .seconds(20)])
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: write(somePartition, count: random.pick([1, 2, 8]))
        case 40..<46: write(somePartition, count: random.pick([1, 3]), inTransaction: true)
        case 46..<52: endTransaction(somePartition, commits: random.chance(60))
        case 52..<60: compact(somePartition)
        case 60..<64 where !isLong: try lose(somePartition)
        case 60..<62: leap(somePartition, 12_000)
        case 62..<66: try recreate()
        case 66 where topic.logs.count < 4: try addPartition()
        case 67..<72: toggleLeader(somePartition)
        case 72..<76: want(somePartitions)
        case 76..<82: try restart()
        case 82: endInPoll()
        case 83..<86: try failDisk()
        case 86..<92: try mendDisk()
        case 92..<96: try beAbsent()
        case 96: topic.clockError = random.pick([0, 0, 5, -5]) * 3_600_000
        case 97: leap(somePartition, random.pick([1, 3]))
        default: topic.pass(.seconds(Int.random(in: 1...200, using: &random)))
        }
    }

    private func compact(_ partition: Int32, isWhole: Bool = false) {
        let end = topic.logs[Int(partition)].end
        note("compact \(partition)")
        topic.logs[Int(partition)].compact(below: isWhole || random.once(in: 2) ? end : end / 2, now: topic.time)
    }

    private func lose(_ partition: Int32) throws {
        let log = topic.logs[Int(partition)]
        // If only markers are lost, nothing tells a follower that has read on.
        guard let last = log.stable.last?.offset else { return }
        let offset =
            random.once(in: 3)
            ? log.entries.randomElement(using: &random)?.offset
            : max(0, log.end - Int64.random(in: 1...random.pick([2, 6, 30]), using: &random))
        try cut(partition, at: min(last, offset ?? 0))
        if random.once(in: 2) { grow(partition) }
    }

    /// In place of what was lost. Offsets without records are those of transactions and of what was compacted.
    private func grow(_ partition: Int32) {
        leap(partition, random.pick(isLong ? [0, 15_000] : [0, 0, 0, 1, 4, 30]))
        write(partition, count: random.pick([1, 3, 10, 40]))
    }

    private func recreate() throws {
        try recreate(partitions: random.pick([1, 2, 3, topic.logs.count]))
        for partition in 0..<Int32(topic.logs.count) where random.once(in: 2) { grow(partition) }
    }

    private func toggleLeader(_ partition: Int32) {
        note("leader of \(partition)")
        if topic.leaderless.remove(partition) == nil { topic.leaderless.insert(partition) }
    }

    /// For many hours the process is gone, the machine sleeps, or a partition has no leader: meanwhile brokers may drop a
    /// deletion.
    private func beAbsent() throws {
        let partition = somePartition
        let isLeaderless = random.once(in: 2)
        write(partition, count: 8)
        // The follower reads that, and perhaps compares the log; until then its clock may be wrong.
        if random.once(in: 3) { topic.clockError = 60 * 3_600_000 }
        for _ in 0..<random.pick([1, 8]) where findings.isEmpty {
            try turn()
            topic.pass(.seconds(20))
        }
        if isLeaderless { topic.leaderless.insert(partition) }
        topic.clockError = 0
        if random.chance(80) { delete(partition) }
        for hours in [random.pick([0, 1, 9]), random.pick([1, 26])] {
            if random.chance(80) { write(partition, count: random.pick([1, 1, 5])) }
            compact(partition, isWhole: true)
            note("hours pass")
            for hour in 0..<hours {
                topic.pass(.seconds(3600))
                if isLeaderless, hour % 6 == 0, findings.isEmpty { try turn() }
            }
            if random.chance(80) { compact(partition, isWhole: true) }
        }
        if isLeaderless { topic.leaderless.remove(partition) } else if random.once(in: 2) { try restart() }
    }
}
