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
        "Nothing is read of what was aborted",
        .enabled(
            if: Self.brokers != nil, "needs a broker with real transactions: name one in PUSHMILL_TEST_BROKERS"))
    func aborted() async throws {
        let properties = ClientProperties([("bootstrap.servers", Self.brokers ?? "")])
        let name = "aborted-\(UInt64.random(in: 0 ... .max))"
        let producer = try Producer(
            ClientProperties([("bootstrap.servers", Self.brokers ?? ""), ("transactional.id", name)]),
            log: { _, _, _ in })
        try producer.createTopic(name, partitions: 1, settings: [], milliseconds: 30_000)
        try producer.initTransactions(milliseconds: 30_000)
        for (value, isCommitted) in [("one", true), ("two", false), ("three", true), ("four", false)] {
            try producer.beginTransaction()
            try store(value, in: try producer.topic(name), by: producer)
            if isCommitted {
                try producer.commitTransaction(milliseconds: 30_000)
            } else {
                try producer.abortTransaction(milliseconds: 30_000)
            }
        }
        let source = try TopicRecords(TopicRange(topic: name), properties)
        var texts: [String?] = []
        while case let some = try await source.next(100), !some.isEmpty { texts += some.map(\.payloadText) }
        #expect(texts == ["one", "three"])
    }

    /// Returns when the brokers have it, be it committed later or not.
    private func store(_ value: String, in topic: ProducerTopic, by producer: Producer) throws {
        var headers = Headers()
        let result = Array(value.utf8).withUnsafeBytes { bytes in
            producer.publish(to: topic, key: nil, value: bytes, headers: &headers, timestamp: 1000, opaque: 0)
        }
        guard case .queued = result else { throw KafkaError("not queued") }
        var reports: [DeliveryReport] = []
        while reports.isEmpty { producer.poll(milliseconds: 100, into: &reports) }
        if let error = reports[0].error { throw error }
    }
}
