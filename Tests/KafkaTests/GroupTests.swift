import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Groups, commits and errors", .serialized, .ownThread)
struct GroupTests {
    @Test("A commit carries its metadata and is read back by the next member")
    func metadata() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let place = TopicPartition("t", 1)
        do {
            let consumer = try peer.consumer(group: "g")
            try consumer.subscribe(to: ["t"])
            _ = try consumer.join()
            let results = try consumer.commits().commit(
                [Position(place, offset: 7, metadata: "abc-_")], milliseconds: 5000)
            #expect(results?.count == 1)
            #expect(results?.allSatisfy { $0.error == nil } == true)
            #expect(try consumer.leave(within: .seconds(10)))
        }
        let next = try peer.consumer(group: "g")
        let committed = try next.committed([TopicPartition("t", 0), place], milliseconds: 5000)
        #expect(committed.map(\.position.offset) == [Position.none, 7])
        #expect(committed.map(\.position.metadata) == ["", "abc-_"])
    }

    @Test(
        "A refused commit says so for each partition",
        arguments: [(22, "ILLEGAL_GENERATION"), (27, "REBALANCE_IN_PROGRESS")])
    func refusedCommit(code: Int32, name: String) throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let consumer = try peer.consumer(group: "g")
        try consumer.subscribe(to: ["t"])
        _ = try consumer.join()
        peer.cluster.failRequests(.offsetCommit, with: [code])
        let channel = try consumer.commits()
        let position = Position(TopicPartition("t", 0), offset: 1)
        let refused = channel.commit([position], milliseconds: 5000)
        #expect(refused?.first?.error?.name == name)
        #expect(refused?.first?.error?.isRebalance == true)
        #expect(try consumer.leave(within: .seconds(10)))
    }

    @Test("A member knows while the group is joined anew")
    func joining() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let consumer = try peer.consumer(group: "g")
        #expect(!consumer.isJoining)
        try consumer.subscribe(to: ["t"])
        #expect(try consumer.join().count == 2)
        while consumer.isJoining {}
        let second = try peer.consumer(group: "g")
        try second.subscribe(to: ["t"])
        var batch = RecordBatch(capacity: 1)
        while !consumer.isJoining {
            _ = second.poll(milliseconds: 10, into: &batch)
            _ = consumer.poll(milliseconds: 10, into: &batch)
        }
        #expect(try second.join(beside: consumer).count == 1)
        while consumer.isJoining { _ = consumer.poll(milliseconds: 10, into: &batch) }
        #expect(try consumer.leave(within: .seconds(10)))
        #expect(try second.leave(within: .seconds(10)))
    }

    @Test("A commit that no one answers gives up in time")
    func unanswered() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let consumer = try peer.consumer(group: "g")
        try consumer.subscribe(to: ["t"])
        _ = try consumer.join()
        let channel = try consumer.commits()
        peer.cluster.setDown()
        let position = Position(TopicPartition("t", 0), offset: 1)
        let results = channel.commit([position], milliseconds: 300)
        #expect(results == nil || results?.first?.error != nil)
        peer.cluster.setUp()
    }

    @Test("Where a partition begins and ends is told, and the question gives up in time when its leader is away")
    func watermarks() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let place = TopicPartition("t", 0)
        let consumer = try peer.consumer(group: "g")
        #expect(try consumer.watermarks(of: place, milliseconds: 5000) == (0, 0))
        for number in 1...3 { _ = try peer.publish("\(number)", to: "t") }
        _ = peer.reports(3)
        #expect(try consumer.watermarks(of: place, milliseconds: 5000) == (0, 3))
        peer.cluster.setDown()
        #expect(throws: KafkaError.self) { try consumer.watermarks(of: place, milliseconds: 500) }
    }

    @Test("A record larger than librdkafka takes is refused at once, a broken batch with its bytes")
    func refused() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let large = try peer.publish(String(repeating: "x", count: 2_000_000), to: "t")
        guard case .refused(let error) = large else {
            Issue.record("a record of 2 MB was taken")
            return
        }
        #expect(error.isTooLarge)
        peer.cluster.failRequests(.produce, with: [10])
        _ = try peer.publish("v", key: "k", to: "t", headers: [("h", "1")], opaque: 42)
        let report = try #require(peer.reports(1).first)
        #expect(report.opaque == 42)
        #expect(report.error?.isTooLarge == true)
        #expect(report.returned?.value == Array("v".utf8))
        #expect(text(report.returned?.headers.view?.last("h")) == "1")
    }

    @Test("Properties are judged by librdkafka")
    func properties() {
        #expect(ClientProperties.problem(with: "linger.ms", value: "5") == nil)
        #expect(ClientProperties.problem(with: "linger.ms", value: "soon") != nil)
        #expect(ClientProperties.problem(with: "lingr.ms", value: "5")?.contains("lingr.ms") == true)
        #expect(throws: KafkaError.self) {
            try Producer(ClientProperties([("linger.ms", "soon")]), log: { _, _, _ in })
        }
    }

    @Test("A cluster that cannot create topics says so")
    func createTopic() throws {
        let peer = try Peer()
        #expect(throws: KafkaError.self) {
            try peer.producer.createTopic("new", partitions: 1, milliseconds: 2000)
        }
        #expect(try peer.producer.partitionCount(of: "asked", milliseconds: 5000) == 4)
        #expect(peer.producer.reach(milliseconds: 5000) == nil)
    }
}
