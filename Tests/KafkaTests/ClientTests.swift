import Dispatch
import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillKafka

@Suite("Clients and errors", .serialized, .ownThread)
struct ClientTests {
    @Test("librdkafka's `cnd_timedwait` is not the C library's: it ignores changes of the system clock")
    func waits() throws {
        let library = try #require(dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY))
        defer { dlclose(library) }
        let theirs = try #require(dlsym(library, "cnd_timedwait"))
        #expect(try #require(dlsym(nil, "cnd_timedwait")) != theirs)
    }

    @Test("A member knows whether it is joining the group, and since when")
    func joining() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let first = try Member(peer.cluster, group: "g")
        try first.until { $0.owned.count == 2 && !$0.consumer.isJoining }
        expect(first.consumer.joinsSince, is: nil)
        let second = try Member(peer.cluster, group: "g")
        try first.until {
            try? second.turn()
            return $0.consumer.isJoining && $0.consumer.joinsSince != nil
        }
        try first.until {
            try? second.turn()
            return second.owned.count == 1 && !$0.consumer.isJoining && $0.consumer.joinsSince == nil
        }
        #expect(try first.leave() && second.leave())
    }

    @Test(
        "Members are not counted by one who may not see the group",
        arguments: [MockCluster.Request.findCoordinator, .offsetFetch])
    func hidden(_ refused: MockCluster.Request) throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let properties = ClientProperties([("bootstrap.servers", peer.cluster.bootstrapServers), ("group.id", "g")])
        let count = { try ClusterClient.memberCount(ofGroupIn: properties, topic: "t", milliseconds: 20_000) }
        // The mock cluster reports no groups.
        expect(try count(), is: nil)
        peer.cluster.failRequests(refused, with: [Int32](repeating: 30, count: 100))
        let error = #expect(throws: KafkaError.self) { try count() }
        expect(error?.name, is: "GROUP_AUTHORIZATION_FAILED")
    }

    @Test("A member that gave partitions back counts as joining before its request is sent")
    func rejoining() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let first = try Member(peer.cluster, group: "g", [("group.instance.id", "i")])
        try first.until { $0.owned.count == 2 && !$0.consumer.isJoining }
        first.answers = false
        first.seeks = false
        let second = try Member(peer.cluster, group: "g")
        func told(_ member: Member) -> ConsumerEvent? {
            try? second.turn()
            return member.consumer.isJoining ? nil : member.events.last
        }
        var revoked: [TopicPartition] = []
        try first.until {
            guard case .revoked(let partitions) = told($0) else { return false }
            revoked = partitions
            return true
        }
        try first.consumer.giveBack(revoked)
        try first.until { told($0) == .assigned([]) }
        try first.consumer.acceptAssignment()
        #expect(first.consumer.isJoining)
        first.answers = true
        try first.until {
            try? second.turn()
            return second.owned.count == 1 && !$0.consumer.isJoining
        }
        #expect(try first.leave() && second.leave())
    }

    @Test("A commit after a heartbeat's answer waits until it is known whether the member joins, and is not made if so")
    func heldCommits() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let member = try Member(peer.cluster, group: "g")
        try member.until { $0.owned.count == 1 && !$0.consumer.isJoining }
        let (joins, group) = (member.consumer.sinks.joins, member.consumer.sinks.group)
        func commit(_ offset: Int64) {
            member.consumer.commit([Position(TopicPartition("t", 0), offset: offset)], number: UInt32(offset))
        }
        func answer(to offset: Int64) -> CommitAnswer? { member.commits().first { $0.0 == offset }?.1 }

        let before = joins.mayJoinUntil
        try member.until { _ in joins.mayJoinUntil > before }
        let (heartbeat, fetch): (Int16, Int16) = (12, 1)
        let end = JoinWatch.now + 500_000_000
        joins.noteAnswer(heartbeat, at: end)
        joins.noteAnswer(fetch, at: 0)
        commit(1)
        try member.until { _ in answer(to: 1) != nil }
        expect(answer(to: 1), is: .accepted)
        #expect(JoinWatch.now > end)

        joins.noteAnswer(heartbeat, at: JoinWatch.now + 60_000_000_000)
        commit(2)
        joins.expect(since: JoinWatch.now)
        try member.turn()
        expect(answer(to: 2), is: .retry(.unanswered))
        expect(joins.end(), is: true)

        // The member learns of a whole rebalance at once.
        joins.noteAnswer(heartbeat, at: JoinWatch.now + 60_000_000_000)
        commit(3)
        peer.cluster.failRequests(.heartbeat, with: [27])
        while !group.events.contains(.assigned([])) {
            member.signal.wait(nanoseconds: 10_000_000)
            member.consumer.pollEvents()
        }
        try member.turn()
        expect(answer(to: 3), is: .retry(.unanswered))

        member.consumer.askCommitted([TopicPartition("t", 0)])
        try member.until { !$0.committed().isEmpty }
        expect(member.committed().values.map(\.offset), is: [1])
        #expect(try member.leave())
    }

    @Test("Commits pending for an unavailable coordinator block neither the member nor its end")
    func pendingCommits() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let begin = ContinuousClock.now
        do {
            let member = try Member(peer.cluster, group: "g", [("session.timeout.ms", "60000")])
            try member.until { $0.owned.count == 2 }
            peer.cluster.setDown()
            for number in 0..<15 {
                member.consumer.commit([Position(TopicPartition("t", 0), offset: 1)], number: UInt32(number))
                try member.turn()
            }
            _ = try member.leave(within: .seconds(1))
        }
        #expect(begin.duration(to: .now) < .seconds(30))
    }

    @Test("A member that cannot be created throws an error instead of ending the process")
    func unmade() {
        let properties = ClientProperties(
            [("group.id", "g"), ("security.protocol", "ssl"), ("ssl.ca.location", "/nowhere/ca.pem")])
        for _ in 0..<2 {
            #expect(throws: KafkaError.self) {
                _ = try GroupConsumer(properties, signal: WakeSignal(), log: { _, _, _ in })
            }
        }
    }

    @Test("Releasing a failed member waits only a bounded time for its end")
    func endOfFailed() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        try peer.fill("t", partitions: 1, each: 1)
        var member: Member? = try Member(peer.cluster, group: "g")
        // librdkafka's threads do not end until the record is destroyed.
        let record = try fail(try #require(member), peer.cluster)
        let released = DispatchSemaphore(value: 0)
        DispatchQueue(label: "end of a record").async {
            _ = released.wait(timeout: .now() + 20)
            record.destroy()
        }
        let begin = ContinuousClock.now
        member = nil
        #expect(begin.duration(to: .now) < .seconds(10))
        released.signal()
    }

    @Test("A member that fails with an unanswered assignment is not destroyed: that would spin forever")
    func endOfUnanswered() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        var member: Member? = try Member(peer.cluster, group: "g")
        try failUnanswered(try #require(member), peer.cluster)
        expect(member?.consumer.client.isDestroyable, is: false)
        member = nil
    }

    private func failUnanswered(_ member: Member, _ cluster: MockCluster) throws {
        member.answers = false
        try member.until { !$0.events.isEmpty }
        // FENCED_INSTANCE_ID
        cluster.failRequests(.heartbeat, with: [82])
        try member.until { $0.consumer.fatalError != nil }
        try member.consumer.acceptAssignment()
    }

    /// Has the member fenced; returns a record of the member's that was not destroyed.
    private func fail(_ member: Member, _ cluster: MockCluster) throws -> Record {
        var record: Record?
        try member.until(records: 0) { member in
            record = record ?? member.consumer.nextRecord()
            return record != nil
        }
        // FENCED_INSTANCE_ID
        cluster.failRequests(.offsetCommit, with: [82])
        member.consumer.commit([Position(TopicPartition("t", 0), offset: 1)], number: 1)
        try member.until(records: 0) { $0.consumer.fatalError != nil }
        return try #require(record)
    }

    @Test("A query returns a partition's range, and times out if brokers are down")
    func range() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let partition = TopicPartition("t", 0)
        let reader = try peer.reader()
        try expect(reader.range(of: partition, milliseconds: 60_000), is: 0..<0)
        for number in 1...3 { _ = try peer.publish("\(number)", to: "t") }
        _ = peer.reports(3)
        try expect(reader.range(of: partition, milliseconds: 60_000), is: 0..<3)
        peer.cluster.setDown()
        let begin = ContinuousClock.now
        #expect(throws: KafkaError.self) { try reader.range(of: partition, milliseconds: 500) }
        #expect(begin.duration(to: .now) < .seconds(30))
    }

    @Test("librdkafka refuses an oversized record at once; a batch refused by brokers returns its bytes")
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
        _ = try peer.publish("v", key: "k", to: "t", headers: [("h", "1")], tag: 42)
        let report = try #require(peer.reports(1).first)
        expect(report.tag, is: 42)
        expect(report.error?.isTooLarge, is: true)
        expect(report.returned?.value, is: Array("v".utf8))
        expect(text(report.returned?.headers.view?.last("h")), is: "1")
        // This producer does not stop at a refusal.
        _ = try peer.publish("w", to: "t")
        #expect(peer.reports(1).map(\.offset) == [0] && peer.producer.fatalError == nil)
    }

    @Test("librdkafka validates properties")
    func properties() {
        #expect(ClientProperties.problem(with: "linger.ms", value: "5") == nil)
        #expect(ClientProperties.problem(with: "linger.ms", value: "soon") != nil)
        expect(ClientProperties.problem(with: "lingr.ms", value: "5")?.contains("lingr.ms"), is: true)
        #expect(throws: KafkaError.self) {
            try ClusterClient(ClientProperties([("linger.ms", "soon")]))
        }
    }

    @Test(
        "A number that librdkafka misreads is reported; equal spellings and other texts are not",
        arguments: [
            ("session.timeout.ms", "30s", "30"), ("session.timeout.ms", "06000", "3072"),
            ("fetch.max.bytes", "50MB", "50"), ("session.timeout.ms", "6000", nil),
            ("session.timeout.ms", "7000.0", "7000"), ("session.timeout.ms", "+7000", nil), ("linger.ms", "5.0", "5"),
            ("linger.ms", "0.3333333", nil), ("acks", "-1", nil), ("acks", "all", nil),
            ("enable.idempotence", "1", nil),
            ("group.id", "1a", nil), ("group.id", String(repeating: "1", count: 600), nil),
            ("bootstrap.servers", "10.0.0.1:9092", nil),
        ] as [(String, String, String?)])
    func numbers(name: String, value: String, read: String?) {
        let problem = read.map { "is read as \($0): write a plain number, in the property's own unit" }
        expect(ClientProperties.problem(with: name, value: value), is: problem)
    }

    @Test("Creating a topic throws if the cluster cannot create topics")
    func createTopic() throws {
        let peer = try Peer()
        let client = try ClusterClient(
            ClientProperties([("bootstrap.servers", peer.cluster.bootstrapServers)]))
        #expect(throws: KafkaError.self) { try client.createTopic("new", partitions: 1, milliseconds: 2000) }
        try expect(client.partitionCount(of: "asked", milliseconds: 60_000), is: 4)
        #expect(client.reach(milliseconds: 60_000) == nil)
    }
}
