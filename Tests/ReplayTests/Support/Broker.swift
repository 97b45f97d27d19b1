import Glibc
import PushmillKafka
import PushmillPayload

@testable import PushmillReplay

/// An embedded broker.
struct Broker {
    let cluster: MockCluster

    var properties: ClientProperties {
        ClientProperties([("bootstrap.servers", cluster.bootstrapServers), ("fetch.wait.max.ms", "50")])
    }

    init(topics: [(String, Int)]) throws {
        cluster = try MockCluster()
        for (name, partitions) in topics { try cluster.createTopic(name, partitions: partitions) }
    }

    /// Returns when the brokers have stored all records.
    func publish(_ records: [RecordEnvelope], to topic: String) throws {
        let sender = try RecordSender(properties)
        for var record in records {
            record.topic = topic
            try sender.send(record, as: "a record")
        }
        _ = sender.settle()
        try sender.check()
    }

    func read(_ range: TopicRange, timeIndex: TopicRecords.TimeIndex? = nil) async throws -> [RecordEnvelope] {
        let source = try TopicRecords(range, properties, timeIndex: timeIndex)
        var records: [RecordEnvelope] = []
        while true {
            let some = try source.next(100)
            if some.isEmpty { return records }
            records += some
        }
    }
}
