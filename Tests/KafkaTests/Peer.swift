import PushmillKafka

/// A mock cluster and a producer for it.
struct Peer {
    let cluster: MockCluster
    let signal = WakeSignal()
    let producer: OutputProducer

    init(brokers: Int = 1, producer properties: [(name: String, value: String)] = []) throws {
        cluster = try MockCluster(brokers: brokers)
        producer = try OutputProducer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers)] + properties), signal: signal,
            stopsAtRefusal: false, log: { _, _, _ in })
    }

    func reader() throws -> PartitionReader {
        try PartitionReader(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers), ("fetch.wait.max.ms", "50")]),
            log: { _, _, _ in })
    }

    func publish(
        _ value: String?, key: String? = nil, to topic: String, partition: Int32? = 0,
        headers: [(String, String?)] = [], timestamp: Int64 = 0, tag: UInt64 = 0
    ) throws -> PublishResult {
        var list = Headers()
        for (name, value) in headers {
            withBytes(name) { name in
                withBytes(value) { list.add(name ?? UnsafeRawBufferPointer(start: nil, count: 0), $0) }
            }
        }
        let topic = try producer.topic(topic)
        return withBytes(key) { key in
            withBytes(value) { value in
                producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &list, timestamp: timestamp,
                    tag: tag)
            }
        }
    }

    /// Waits until at least that many reports are in.
    func reports(_ count: Int) -> [OutputDelivery] {
        var all: [OutputDelivery] = []
        while all.count < count {
            signal.wait(nanoseconds: 1_000_000_000)
            producer.takeReports { all.append($0) }
        }
        return all
    }
}

func withBytes<Result>(_ text: String?, _ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result {
    guard var text else { return try body(nil) }
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
}

func text(_ bytes: UnsafeRawBufferPointer?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

/// A copy of a record, which outlives its batch.
struct Copied: Equatable {
    var key: String?
    var value: String?
    var timestamp: Int64
    var offset: Int64
    var headers: [[String?]]
}

extension PartitionReader {
    /// The first records of a topic's partition 0.
    func read(_ count: Int, of topic: String) throws -> [Copied] {
        try read(from: [Position(TopicPartition(topic, 0), offset: 0)])
        var copies: [Copied] = []
        while copies.count < count {
            for record in poll(milliseconds: 100).records {
                var headers: [[String?]] = []
                if let view = record.headers {
                    for index in 0..<view.count {
                        if let (name, value) = view.entry(index) { headers.append([text(name), text(value)]) }
                    }
                }
                copies.append(
                    Copied(
                        key: text(record.key), value: text(record.value), timestamp: record.timestamp,
                        offset: record.offset, headers: headers))
                record.destroy()
            }
        }
        return copies
    }
}
