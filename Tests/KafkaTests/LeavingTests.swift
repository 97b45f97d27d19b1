import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Leaving a group", .serialized, .ownThread)
struct LeavingTests {
    @Test("A member whose rebalance is not answered leaves all the same")
    func unanswered() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let (first, second) = (try peer.consumer(group: "g"), try peer.consumer(group: "g"))
        try first.subscribe(to: ["t"])
        #expect(try first.join().count == 2)
        try second.subscribe(to: ["t"])
        var batch = RecordBatch(capacity: 1)
        var isAsked = false
        while !isAsked {
            try second.answer(second.poll(milliseconds: 10, into: &batch).rebalances)
            for case .revoke in first.poll(milliseconds: 10, into: &batch).rebalances { isAsked = true }
        }
        #expect(try first.leave(within: .seconds(10)))
        #expect(try second.join().count == 2)
    }

    @Test("Commits that wait for a coordinator that is away keep neither the member nor the end of it")
    func pendingCommits() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let begin = ContinuousClock.now
        do {
            let consumer = try peer.consumer(group: "g", [("session.timeout.ms", "60000")])
            try consumer.subscribe(to: ["t"])
            _ = try consumer.join()
            peer.cluster.setDown()
            let channel = try consumer.commits()
            for _ in 0..<15 {
                _ = channel.commit([Position(TopicPartition("t", 0), offset: 1)], milliseconds: 200)
            }
            _ = try consumer.leave(within: .seconds(1))
        }
        #expect(begin.duration(to: .now) < .seconds(30))
    }
}
