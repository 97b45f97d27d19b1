import Kafka
import Push
import Telemetry

/// The whole service on an embedded broker, fed with sample events: what goes in and what comes out, line by line.
final class DemoRun: Sendable {
    struct Plan: Sendable {
        var events = 100
        /// Events a second.
        var rate = 20
    }

    static let configuration = """
        kafka: { bootstrap.servers: embedded, consumer: { group.id: demo, fetch.wait.max.ms: 50 } }
        topics: { input: [push.events], output: push.notifications, dead-letter: push.dead-letters }
        """

    private let plan: Plan
    private let servers: String
    private let console: Console

    init(_ plan: Plan, servers: String, console: Console) {
        self.plan = plan
        self.servers = servers
        self.console = console
    }

    /// Feeds the events, shows what comes of each, and tells how they ended; returns when all are out or `isOver`.
    func run(until isOver: @escaping @Sendable () -> Bool) throws(KafkaError) -> DemoSummary {
        let properties = ClientProperties([("bootstrap.servers", servers), ("fetch.wait.max.ms", "50")])
        let producer = try Producer(properties, log: { _, _, _ in })
        let input = try producer.topic("push.events")
        let reader = try PartitionReader(properties, log: { _, _, _ in })
        try reader.read(from: partitions(of: ["push.notifications", "push.dead-letters"], reader))

        var events = DemoEvents()
        var sent = 0
        var summary = DemoSummary()
        var waiting: [String: [DemoEvents.Event]] = [:]
        var batch = RecordBatch(capacity: 100)
        var reports: [DeliveryReport] = []
        let start = ContinuousClock.now
        while summary.count < plan.events, !isOver() {
            let due = min(plan.events, Int((ContinuousClock.now - start) / .seconds(1) * Double(plan.rate)) + 1)
            while sent < due {
                let event = events.next()
                waiting[event.key, default: []].append(event)
                publish(event, to: input, by: producer)
                sent += 1
            }
            producer.poll(milliseconds: 0, into: &reports)
            _ = reader.poll(milliseconds: 20, into: &batch)
            for record in batch.records {
                let line = DemoLine(record)
                // One recipient's events come out in the order they went in.
                let before = waiting[line.key].flatMap { $0.isEmpty ? nil : $0[0] }
                waiting[line.key]?.removeFirst(before == nil ? 0 : 1)
                console.output(line.text(before: before?.payload ?? ""))
                summary.add(line.outcome)
                record.destroy()
            }
        }
        return summary
    }

    private func partitions(of topics: [String], _ reader: PartitionReader) throws(KafkaError) -> [Position] {
        var positions: [Position] = []
        for topic in topics {
            for partition in 0..<(try reader.partitionCount(of: topic, milliseconds: 5000)) {
                positions.append(Position(TopicPartition(topic, Int32(partition)), offset: Position.beginning))
            }
        }
        return positions
    }

    private func publish(_ event: DemoEvents.Event, to topic: ProducerTopic, by producer: Producer) {
        var (key, payload) = (event.key, event.payload)
        var headers = Headers()
        key.withUTF8 { key in
            payload.withUTF8 { payload in
                _ = producer.publish(
                    to: topic, key: UnsafeRawBufferPointer(key), value: UnsafeRawBufferPointer(payload),
                    headers: &headers, timestamp: 0, opaque: 0)
            }
        }
    }
}

/// How the events ended.
struct DemoSummary: Sendable {
    private(set) var outcomes: [(name: String, count: Int)] = []

    var count: Int { outcomes.reduce(0) { $0 + $1.count } }

    mutating func add(_ outcome: String) {
        if let index = outcomes.firstIndex(where: { $0.name == outcome }) {
            outcomes[index].count += 1
        } else {
            outcomes.append((outcome, 1))
        }
    }

    var text: String {
        let lines = outcomes.sorted { $0.count > $1.count }.map { name, count in
            String(repeating: " ", count: max(0, 8 - "\(count)".count)) + "\(count)  \(name)"
        }
        return (["", "\(count) events, by outcome:"] + lines).joined(separator: "\n")
    }
}
