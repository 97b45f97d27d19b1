import Dispatch
import Glibc
import PushmillKafka
import PushmillTestSupport
import Synchronization
import Testing

@Suite("Outputs", .serialized, .ownThread)
struct OutputProducerTests {
    private func values(_ cluster: MockCluster, partition: Int32 = 0, count: Int) throws -> [String] {
        let reader = try PartitionReader(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]), log: { _, _, _ in })
        try reader.read(from: [Position(TopicPartition("t", partition), offset: 0)])
        var all: [String] = []
        while all.count < count {
            for record in reader.poll(milliseconds: 100).records {
                all.append(text(record.value) ?? "")
                record.destroy()
            }
        }
        return all
    }

    @Test("Every stored record is reported in order, and reports wake the waiting thread")
    func stored() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster)
        try output.publish(0..<1000)
        let begin = ContinuousClock.now
        while output.producer.outstanding > 0 {
            output.signal.wait(nanoseconds: 60_000_000_000)
            output.take()
        }
        #expect(begin.duration(to: .now) < .seconds(50))
        expect(output.stored, is: Array(0..<1000))
        #expect(output.producer.fatalError == nil)
    }

    @Test(
        "A refused batch ends its producer; a new one stores the returned records in order",
        arguments: [10, 87])
    func refused(code: Int32) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 2)
        // One request at a time: unlike real brokers, the mock stores requests that follow a refused one.
        let one = [("max.in.flight.requests.per.connection", "1"), ("batch.num.messages", "50")]
        var output = try Output(cluster, one)
        try output.publish(0..<10, partitions: 2)
        try output.until { $0.stored.count == 10 }
        // The refusal arrives after everything was published: a failed producer takes no more records.
        cluster.setRoundTrip(milliseconds: 5000)
        cluster.failRequests(.produce, with: [code])
        try output.publish(10..<1000, partitions: 2)
        cluster.setRoundTrip(milliseconds: 20)
        try output.until { $0.stored.count + $0.returned.count == 1000 }
        expect(output.producer.outstanding, is: 0)
        #expect(output.producer.fatalError != nil)
        var kinds: [String: Int] = [:]
        for (tag, delivery) in output.returned {
            expect(delivery.returned?.value.map { String(decoding: $0, as: UTF8.self) }, is: "\(tag)")
            expect(text(delivery.returned?.headers.view?.last("n")), is: "\(tag)")
            switch delivery.failure {
            case .refused: kinds["refused", default: 0] += 1
            case .purged: kinds["purged", default: 0] += 1
            default: kinds["other", default: 0] += 1
            }
        }
        #expect(kinds["refused", default: 0] > 0 && kinds["refused", default: 0] <= 50)
        #expect(kinds["purged", default: 0] > 0)
        #expect(kinds["other"] == nil)
        var headers = Headers()
        let late = output.producer.publish(
            to: output.topic, partition: 0, key: nil, value: nil, headers: &headers, timestamp: 0, tag: 1)
        guard case .refused(let error) = late else {
            Issue.record("\(late)")
            return
        }
        #expect(error.isOfState)

        let again = output.returned.keys.map { Int($0) }.sorted()
        let begin = ContinuousClock.now
        output = try Output(cluster, one)
        #expect(begin.duration(to: .now) < .seconds(5))
        try output.publish(again, partitions: 2)
        try output.until { $0.stored.count == again.count }
        for partition in [0, 1] {
            let expected = (0..<1000).filter { $0 % 2 == partition }
            try expect(values(cluster, partition: Int32(partition), count: 500), is: expected.map { "\($0)" })
        }
    }

    @Test("A purge of everything returns queued and in-flight records as purged")
    func purge() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster)
        try output.publish(0..<10)
        try output.until { $0.stored.count == 10 }
        cluster.setRoundTrip(milliseconds: 5000)
        try output.publish(10..<20)
        output.producer.flush()
        output.signal.wait(nanoseconds: 50_000_000)
        try output.publish(20..<30)
        output.producer.purge(all: true)
        try output.until { $0.returned.count == 20 }
        for delivery in output.returned.values {
            guard case .purged = delivery.failure else {
                Issue.record("\(String(describing: delivery.failure))")
                return
            }
        }
    }

    @Test("A record that times out while brokers are down is unavailable, not refused")
    func unavailable() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        // Long enough for the first record on a busy machine.
        let output = try Output(cluster, [("message.timeout.ms", "10000")])
        try output.publish([0])
        try output.until { $0.stored.count == 1 }
        cluster.setDown()
        try output.publish([1])
        try output.until { $0.returned.count == 1 }
        guard case .unavailable = output.returned[1]?.failure else {
            Issue.record("\(String(describing: output.returned[1]?.failure))")
            return
        }
    }

    @Test("Publishing to an unknown partition makes the producer ask brokers whether it was added")
    func addedPartition() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let asked = DispatchSemaphore(value: 0)
        let output = try Output(cluster, [("debug", "metadata")]) { _, _, message in
            // librdkafka's wording for metadata requests that it does not make by itself.
            if message.contains("application requested") { asked.signal() }
        }
        try output.publish([0])
        try output.until { $0.stored.count == 1 }
        var headers = Headers()
        let result = output.producer.publish(
            to: output.topic, partition: 1, key: nil, value: nil, headers: &headers, timestamp: 0, tag: 1)
        guard case .refused(let error) = result else {
            Issue.record("\(result)")
            return
        }
        expect(error.name, is: "_UNKNOWN_PARTITION")
        expect(asked.wait(timeout: .now() + 60), is: .success)
    }

    @Test("The thread that takes reports can commit and abort, and finds them afterwards")
    func transactions() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster, [("transactional.id", "x")])
        let producer = output.producer
        expect(producer.transact(.initialize, milliseconds: 10_000), is: .done)
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        try output.publish(0..<1000)
        expect(producer.transact(.commit, milliseconds: 10_000), is: .done)
        #expect(output.stored.isEmpty)
        output.take()
        expect(output.stored, is: Array(0..<1000))

        // Longer than a busy machine takes to publish. The abort waits as long, and again if requests are in flight.
        cluster.setRoundTrip(milliseconds: 2000)
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        try output.publish(1000..<1100)
        expect(producer.transact(.abort, milliseconds: 30_000), is: .done)
        output.take()
        expect(output.returned.count + output.stored.count, is: 1100)
        #expect(!output.returned.isEmpty)

        cluster.setRoundTrip(milliseconds: 0)
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        cluster.failRequests(.produce, with: [87])
        try output.publish([2000])
        let outcome = producer.transact(.commit, milliseconds: 10_000)
        guard case .abort = outcome else {
            Issue.record("\(outcome)")
            return
        }
        expect(producer.transact(.abort, milliseconds: 10_000), is: .done)
        output.take()
        guard case .refused = output.returned[2000]?.failure else {
            Issue.record("\(String(describing: output.returned[2000]?.failure))")
            return
        }
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        // With brokers down, nothing is stored in time.
        cluster.setDown()
        try output.publish([3000])
        guard case .retry = producer.transact(.commit, milliseconds: 300) else {
            Issue.record("a commit without brokers")
            return
        }
    }

    @Test("A commit ends once brokers answer it, however late librdkafka notices the calls meanwhile")
    func lateCommit() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let isSlow = Atomic<Bool>(false)
        let settings = [
            ("transactional.id", "x"), ("debug", "eos,topic,metadata,broker"),
            ("topic.metadata.refresh.interval.ms", "50"),
        ]
        let output = try Output(cluster, settings) { _, _, message in
            if isSlow.load(ordering: .relaxed), message.contains("[thrd:main]") { usleep(20_000) }
        }
        expect(output.producer.transact(.initialize, milliseconds: 10_000), is: .done)
        expect(output.producer.transact(.begin, milliseconds: 0), is: .done)
        try output.publish([0])
        try output.until { $0.stored == [0] }
        cluster.setRoundTrip(milliseconds: 2000)
        var outcome = output.producer.transact(.commit, milliseconds: 300)
        isSlow.store(true, ordering: .relaxed)
        let end = ContinuousClock.now + .seconds(60)
        while case .retry = outcome, end > .now {
            usleep(20_000)
            outcome = output.producer.transact(.commit, milliseconds: 1)
        }
        expect(outcome, is: .done)
        isSlow.store(false, ordering: .relaxed)
    }

    @Test("An abort waits for offsets that are still being added, and the next transaction works")
    func abortedOffsets() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster, [("transactional.id", "x")])
        let producer = output.producer
        let member = try Member(cluster, group: "g")
        try member.until { $0.owned.count == 1 }
        let positions = [Position(TopicPartition("t", 0), offset: 1, metadata: "m")]
        expect(producer.transact(.initialize, milliseconds: 10_000), is: .done)
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        cluster.setRoundTrip(milliseconds: 1000)
        expect(
            producer.transact(.addOffsets(positions), by: member.consumer, milliseconds: 50), is: .retry(.unanswered))
        expect(producer.transact(.abort, milliseconds: 50), is: .retry(.unanswered))
        cluster.setRoundTrip(milliseconds: 0)
        expect(producer.transact(.abort, milliseconds: 30_000), is: .done)
        expect(producer.transact(.begin, milliseconds: 0), is: .done)
        expect(producer.transact(.addOffsets(positions), by: member.consumer, milliseconds: 30_000), is: .done)
        expect(producer.transact(.commit, milliseconds: 30_000), is: .done)
        #expect(try member.leave())
    }

    @Test("The reason of a failed transaction names the topic that may not be written to")
    func refusedTopic() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster, [("transactional.id", "x")])
        expect(output.producer.transact(.initialize, milliseconds: 10_000), is: .done)
        expect(output.producer.transact(.begin, milliseconds: 0), is: .done)
        cluster.failRequests(.addPartitionsToTransaction, with: [29])
        try output.publish(0..<1)
        try output.until { $0.returned.count == 1 }
        let reason = try #require(output.producer.takeTransactionFailure())
        #expect(reason.contains(#"partition "t" [0]"#) && reason.contains("Topic authorization failed"))
    }

    @Test("Adding offsets fails as `notAMember` if the group refuses the member", arguments: [22, 25, 82])
    func notAMember(code: Int32) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let output = try Output(cluster, [("transactional.id", "x")])
        let member = try Member(cluster, group: "g")
        try member.until { $0.owned.count == 1 }
        expect(output.producer.transact(.initialize, milliseconds: 10_000), is: .done)
        expect(output.producer.transact(.begin, milliseconds: 0), is: .done)
        cluster.failRequests(.transactionalOffsetCommit, with: [code])
        let positions = [Position(TopicPartition("t", 0), offset: 1, metadata: "m")]
        let outcome = output.producer.transact(.addOffsets(positions), by: member.consumer, milliseconds: 10_000)
        guard case .notAMember = outcome else {
            Issue.record("\(outcome)")
            return
        }
        expect(output.producer.transact(.abort, milliseconds: 10_000), is: .done)
        expect(output.producer.transact(.begin, milliseconds: 0), is: .done)
        expect(output.producer.transact(.addOffsets(positions), by: member.consumer, milliseconds: 10_000), is: .done)
        expect(output.producer.transact(.commit, milliseconds: 10_000), is: .done)
        #expect(try member.leave())
    }
}
