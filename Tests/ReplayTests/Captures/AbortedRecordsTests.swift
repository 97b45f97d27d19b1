import Glibc
import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Transactions in a topic", .ownThread)
struct AbortedRecordsTests {
    private static let brokers = getenv("PUSHMILL_TEST_BROKERS").map { String(cString: $0) }

    @Test(
        "Records of aborted transactions are not read",
        .enabled(
            if: Self.brokers != nil, "needs a broker with real transactions: name one in PUSHMILL_TEST_BROKERS"))
    func aborted() async throws {
        let properties = ClientProperties([("bootstrap.servers", Self.brokers ?? "")])
        let name = "aborted-\(UInt64.random(in: 0 ... .max))"
        try ClusterClient(properties)
            .createTopic(name, partitions: 1, settings: [], milliseconds: 30_000)
        let producer = try OutputProducer(
            ClientProperties([("bootstrap.servers", Self.brokers ?? ""), ("transactional.id", name)]),
            signal: WakeSignal(), log: { _, _, _ in })
        expect(producer.transact(.initialize, milliseconds: 30_000), is: .done)
        for (value, isCommitted) in [("one", true), ("two", false), ("three", true), ("four", false)] {
            expect(producer.transact(.begin, milliseconds: 0), is: .done)
            try store(value, in: try producer.topic(name), by: producer)
            let ended =
                isCommitted
                ? producer.transact(.commit, milliseconds: 30_000) : producer.transact(.abort, milliseconds: 30_000)
            expect(ended, is: .done)
        }
        let source = try TopicRecords(TopicRange(topic: name), properties)
        var texts: [String?] = []
        while case let some = try source.next(100), !some.isEmpty { texts += some.map(\.payloadText) }
        expect(texts, is: ["one", "three"])
    }

    @Test(
        "A range of times has the records of these times, whatever the times of transaction markers",
        .enabled(
            if: Self.brokers != nil, "needs a broker with real transactions: name one in PUSHMILL_TEST_BROKERS"))
    func times() async throws {
        let properties = ClientProperties([("bootstrap.servers", Self.brokers ?? "")])
        let name = "times-\(UInt64.random(in: 0 ... .max))"
        try ClusterClient(properties).createTopic(name, partitions: 1, settings: [], milliseconds: 30_000)
        let producer = try OutputProducer(
            ClientProperties([("bootstrap.servers", Self.brokers ?? ""), ("transactional.id", name)]),
            signal: WakeSignal(), log: { _, _, _ in })
        expect(producer.transact(.initialize, milliseconds: 30_000), is: .done)
        for time: Int64 in 1...6 {
            expect(producer.transact(.begin, milliseconds: 30_000), is: .done)
            try store("\(time)", in: try producer.topic(name), by: producer, timestamp: time * 1000)
            expect(producer.transact(.commit, milliseconds: 30_000), is: .done)
        }
        for (from, to, expected) in [(2000, 4000, "23"), (5000, 9000, "56"), (0, 9000, "123456")] {
            var range = TopicRange(topic: name)
            (range.from, range.to) = (.time(Int64(from)), .time(Int64(to)))
            let source = try TopicRecords(range, properties)
            var texts = ""
            while case let some = try source.next(100), !some.isEmpty { texts += some.map(\.payloadText).joined() }
            expect(texts, is: expected)
        }
    }

    /// Returns when the brokers have stored the value, whether or not it is committed later.
    private func store(
        _ value: String, in topic: OutputTopic, by producer: OutputProducer, timestamp: Int64 = 1000
    ) throws {
        var headers = Headers()
        let result = Array(value.utf8).withUnsafeBytes { bytes in
            producer.publish(to: topic, key: nil, value: bytes, headers: &headers, timestamp: timestamp, tag: 0)
        }
        guard case .queued = result else { throw KafkaError("not queued") }
        var reports: [OutputDelivery] = []
        while reports.isEmpty {
            producer.flush()
            producer.takeReports { reports.append($0) }
        }
        if let error = reports[0].error { throw error }
    }
}
