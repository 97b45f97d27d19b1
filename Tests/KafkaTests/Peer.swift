import PushmillKafka

/// A broker with a producer and a consumer on it.
struct Peer {
    let cluster: MockCluster
    let producer: Producer

    init(brokers: Int = 1) throws {
        cluster = try MockCluster(brokers: brokers)
        producer = try Producer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]), log: { _, _, _ in })
    }

    func consumer(group: String, _ more: [(name: String, value: String)] = []) throws -> Consumer {
        try Consumer(
            ClientProperties(
                [
                    ("bootstrap.servers", cluster.bootstrapServers), ("group.id", group),
                    ("auto.offset.reset", "earliest"), ("session.timeout.ms", "3000"),
                    ("heartbeat.interval.ms", "200"), ("fetch.wait.max.ms", "50"),
                ] + more), log: { _, _, _ in })
    }

    func publish(
        _ value: String?, key: String? = nil, to topic: String, partition: Int32? = 0,
        headers: [(String, String?)] = [], timestamp: Int64 = 0, opaque: UInt64 = 0
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
                    opaque: opaque)
            }
        }
    }

    /// Polls until that many reports are in.
    func reports(_ count: Int) -> [DeliveryReport] {
        var all: [DeliveryReport] = []
        var some: [DeliveryReport] = []
        while all.count < count {
            producer.poll(milliseconds: 1000, into: &some)
            all += some
        }
        return all
    }
}

func withBytes<Result>(_ text: String?, _ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result {
    guard var text else { return try body(nil) }
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
}

func text(_ bytes: UnsafeRawBufferPointer?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

/// Records copied out of their batch, so that the batch can be let go.
struct Copied: Equatable {
    var key: String?
    var value: String?
    var timestamp: Int64
    var offset: Int64
    var headers: [[String?]]
}

extension Consumer {
    /// Answers assignments from these positions (else from the start) and reads until that many records have come.
    func read(_ count: Int, from positions: [TopicPartition: Int64] = [:]) throws -> [Copied] {
        var batch = RecordBatch(capacity: 100)
        var copies: [Copied] = []
        while copies.count < count {
            let polled = poll(milliseconds: 100, into: &batch)
            try answer(polled.rebalances, from: positions)
            for record in batch.records {
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

    /// Polls until the group has given out partitions, and takes them. Another member is kept alive meanwhile.
    func join(beside other: Consumer? = nil) throws -> [TopicPartition] {
        var batch = RecordBatch(capacity: 100)
        while true {
            if let other { try other.answer(other.poll(milliseconds: 10, into: &batch).rebalances) }
            let polled = poll(milliseconds: 100, into: &batch)
            try answer(polled.rebalances)
            for case .assign(let partitions) in polled.rebalances where !partitions.isEmpty { return partitions }
        }
    }

    /// Whether the group has been left by then.
    func leave(within limit: Duration) throws -> Bool {
        try leave()
        let deadline = ContinuousClock.now + limit
        while !hasLeft(milliseconds: 10) {
            guard ContinuousClock.now < deadline else { return false }
        }
        return true
    }

    func answer(_ rebalances: [RebalanceEvent], from positions: [TopicPartition: Int64] = [:]) throws {
        for event in rebalances {
            switch event {
            case .assign(let partitions):
                try assign(partitions.map { Position($0, offset: positions[$0] ?? Position.stored) })
            case .revoke(let partitions), .lose(let partitions): try unassign(partitions)
            case .failed(let error): throw error
            }
        }
    }
}
