import PushmillKafka
import PushmillTestSupport

/// A group consumer as a shard uses it: answers rebalances at once, reads late, checks what it reads.
final class Member {
    let signal = WakeSignal()
    let consumer: GroupConsumer
    /// The offset that must come next in each partition that is read.
    private(set) var next: [TopicPartition: Int64] = [:]
    private(set) var owned: Set<TopicPartition> = []
    private(set) var taken: [TopicPartition: [Int64]] = [:]
    /// Records that were not the expected next ones.
    private(set) var gaps: [String] = []
    private(set) var events: [ConsumerEvent] = []
    var rebalances = 0
    /// Partitions are read as soon as they are assigned.
    var readsAtOnce = true
    var answers = true
    /// After a rebalance, every partition that stays is sought to its next offset.
    var seeks = true

    init(
        _ cluster: MockCluster, group: String, _ more: [(name: String, value: String)] = [], topic: String = "t",
        log: @escaping KafkaLogSink = { _, _, _ in }
    ) throws {
        consumer = try GroupConsumer(
            ClientProperties(
                [
                    ("bootstrap.servers", cluster.bootstrapServers), ("group.id", group),
                    ("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "100"), ("fetch.wait.max.ms", "20"),
                ] + more), signal: signal, log: log)
        try consumer.subscribe(to: [topic])
    }

    /// Answers the events that have come, then takes up to that many records.
    func turn(records: Int = 100, milliseconds: Int64 = 20) throws {
        var events: [ConsumerEvent] = []
        consumer.wait(milliseconds: milliseconds, records: records > 0)
        consumer.takeEvents(into: &events)
        self.events += events
        for event in events where answers {
            switch event {
            case .assigned(let partitions):
                rebalances += 1
                owned.formUnion(partitions)
                try consumer.acceptAssignment()
                if readsAtOnce { try read(partitions) }
                try seekAll()
            case .revoked(let partitions), .lost(let partitions):
                rebalances += 1
                owned.subtract(partitions)
                for partition in partitions { next[partition] = nil }
                try consumer.giveBack(partitions)
                try seekAll()
            default: break
            }
        }
        for _ in 0..<records {
            guard let record = consumer.nextRecord() else { return }
            let partition = TopicPartition(consumer.topicName(record.topic), record.partition)
            if next[partition] != record.offset {
                gaps.append("\(partition): \(record.offset) for \(next[partition] ?? -1)")
            }
            next[partition] = record.offset + 1
            taken[partition, default: []].append(record.offset)
            record.destroy()
        }
    }

    func read(_ partitions: some Sequence<TopicPartition>, from offset: Int64 = 0) throws {
        let positions = partitions.map { Position($0, offset: resume[$0] ?? offset) }
        try consumer.read(positions)
        for position in positions { next[position.partition] = position.offset }
    }

    /// Where earlier owners of the partitions have stopped reading.
    var resume: [TopicPartition: Int64] = [:]

    private func seekAll() throws {
        guard seeks else { return }
        for (partition, offset) in next {
            while !consumer.seek(to: Position(partition, offset: offset)) {}
        }
    }

    /// Takes turns until the condition holds.
    func until(records: Int = 100, _ holds: (Member) -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !holds(self) {
            guard .now < end else { throw KafkaError("never: \(events)") }
            try turn(records: records)
        }
    }

    func forgetTaken() { taken = [:] }

    func commits() -> [(UInt32, CommitAnswer)] {
        events.compactMap {
            guard case .commitEnded(let number, let answer) = $0 else { return nil }
            return (number, answer)
        }
    }

    func committed() -> [TopicPartition: Position] {
        var all: [TopicPartition: Position] = [:]
        for case .committed(let positions) in events {
            for position in positions { all[position.partition] = position }
        }
        return all
    }

    func leave(within limit: Duration = .seconds(20)) throws -> Bool {
        try consumer.leave()
        let end = ContinuousClock.now + limit
        while !consumer.hasLeft {
            guard .now < end else { return false }
            signal.wait(nanoseconds: 10_000_000)
        }
        return true
    }
}

extension Peer {
    /// Publishes numbered records and waits until they are stored.
    func fill(_ topic: String, partitions: Int32, each count: Int) throws {
        let handle = try producer.topic(topic)
        var stored = 0
        for number in 0..<count {
            for partition in 0..<partitions {
                while true {
                    var headers = Headers()
                    let result = withBytes("\(number)") { value in
                        producer.publish(
                            to: handle, partition: partition, key: nil, value: value, headers: &headers, timestamp: 0,
                            tag: 0)
                    }
                    if case .queued = result { break }
                    stored += reports(1).count
                }
            }
        }
        _ = reports(count * Int(partitions) - stored)
    }
}
