import PushmillKafka

/// Reads what comes out from now on: notifications and dead letters.
final class DemoResults {
    private static let patience: Int32 = 10_000

    private let reader: PartitionReader
    private var batch = RecordBatch(capacity: 500)

    init(servers: String) throws {
        let properties = ClientProperties([
            ("bootstrap.servers", servers), ("group.id", "pushmill-demo"), ("fetch.wait.max.ms", "50"),
        ])
        reader = try PartitionReader(properties, log: { _, _, _ in })
        var positions: [Position] = []
        for topic in ["push.notifications", "push.dead-letters"] {
            for partition in 0..<(try reader.partitionCount(of: topic, milliseconds: Self.patience)) {
                let place = TopicPartition(topic, Int32(partition))
                positions.append(
                    Position(place, offset: try reader.watermarks(of: place, milliseconds: Self.patience).high))
            }
        }
        try reader.read(from: positions)
    }

    /// To be destroyed by the caller.
    func poll() -> [Record] {
        _ = reader.poll(milliseconds: 20, into: &batch)
        return batch.records
    }
}
