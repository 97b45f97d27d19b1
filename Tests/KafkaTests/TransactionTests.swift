import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Transactions over the wire", .serialized, .ownThread)
struct TransactionTests {
    private func publish(_ count: Int, by producer: Producer, to name: String) throws {
        let topic = try producer.topic(name)
        for number in 0..<count {
            var headers = Headers()
            let result = withBytes("\(number)") { value in
                producer.publish(
                    to: topic, key: value, value: value, headers: &headers, timestamp: 0, opaque: UInt64(number))
            }
            guard case .queued = result else { throw KafkaError("not queued") }
        }
    }

    private func producer(_ cluster: MockCluster) throws -> Producer {
        let producer = try Producer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers), ("transactional.id", "t")]),
            log: { _, _, _ in })
        try producer.initTransactions(milliseconds: 10_000)
        try producer.beginTransaction()
        return producer
    }

    @Test("A commit waits for the reports that another thread takes, and calls back on none")
    func commitWaits() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("out", partitions: 2)
        let producer = try producer(cluster)
        try publish(1000, by: producer, to: "out")
        // Nobody takes them: the commit would wait for ever.
        let error = #expect(throws: KafkaError.self) { try producer.commitTransaction(milliseconds: 500) }
        #expect(error?.isRetriable == true)
        async let committed: Void = Task.detached { try producer.commitTransaction(milliseconds: 30_000) }.value
        var all: Set<UInt64> = []
        var reports: [DeliveryReport] = []
        while all.count < 1000 {
            producer.poll(milliseconds: 100, into: &reports)
            all.formUnion(reports.lazy.filter { $0.error == nil }.map(\.opaque))
        }
        try await committed
        #expect(all == Set(0..<1000))
    }

    @Test("What waits when a transaction is aborted is reported as purged")
    func abortPurges() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("out", partitions: 1)
        let producer = try producer(cluster)
        cluster.setRoundTrip(milliseconds: 200)
        try publish(10, by: producer, to: "out")
        async let aborted: Void = Task.detached { try producer.abortTransaction(milliseconds: 30_000) }.value
        var reports: [DeliveryReport] = []
        var errors: [KafkaError?] = []
        while errors.count < 10 {
            producer.poll(milliseconds: 100, into: &reports)
            errors += reports.map(\.error)
        }
        try await aborted
        #expect(errors.allSatisfy { $0?.isOurOwnDoing ?? true })
        #expect(errors.contains { $0 != nil })
    }

    @Test("Who one is in a group is the same until the group says otherwise")
    func groupMetadata() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let consumer = try peer.consumer(group: "g")
        let before = try #require(consumer.groupMetadata())
        #expect(consumer.groupMetadata() == before)
        try consumer.subscribe(to: ["t"])
        _ = try peer.publish("v", to: "t")
        _ = try consumer.read(1)
        #expect(consumer.groupMetadata() != before)
        #expect(try consumer.leave(within: .seconds(10)))
    }
}
