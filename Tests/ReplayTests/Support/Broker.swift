import Glibc
import PushmillKafka
import PushmillPayload

@testable import PushmillReplay

/// An embedded broker with a producer on it.
struct Broker {
    let cluster: MockCluster
    let producer: Producer

    var properties: ClientProperties {
        ClientProperties([("bootstrap.servers", cluster.bootstrapServers), ("fetch.wait.max.ms", "50")])
    }

    init(topics: [(String, Int)]) throws {
        cluster = try MockCluster()
        for (name, partitions) in topics { try cluster.createTopic(name, partitions: partitions) }
        producer = try Producer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]), log: { _, _, _ in })
    }

    /// Returns when the brokers have stored them all.
    func publish(_ records: [RecordEnvelope], to topic: String) throws {
        let topic = try producer.topic(topic)
        for record in records {
            var headers = Headers()
            for header in record.headers {
                header.name.withUnsafeBytes { name in
                    if let value = header.value {
                        value.withUnsafeBytes { headers.add(name, $0) }
                    } else {
                        headers.add(name, nil)
                    }
                }
            }
            let (key, value) = (record.key.map(Lent.init), record.payload.map(Lent.init))
            _ = producer.publish(
                to: topic, partition: record.partition, key: key?.bytes, value: value?.bytes, headers: &headers,
                timestamp: record.timestamp, opaque: 0)
        }
        var reports: [DeliveryReport] = []
        var count = 0
        while count < records.count {
            producer.poll(milliseconds: 100, into: &reports)
            count += reports.count
        }
    }

    func read(_ range: TopicRange, timeIndex: TopicPlaces.TimeIndex? = nil) async throws -> [RecordEnvelope] {
        let source = try TopicRecords(range, properties, timeIndex: timeIndex)
        var records: [RecordEnvelope] = []
        while true {
            let some = try source.next(100)
            if some.isEmpty { return records }
            records += some
        }
    }
}

/// Bytes that stay where they are.
private final class Lent {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        copy.copyBytes(from: bytes)
        self.bytes = UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
    }

    deinit { bytes.deallocate() }
}
