import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Answers to a group member", .serialized, .ownThread)
struct GroupAnswerTests {
    private let zero = TopicPartition("t", 0)
    private let one = TopicPartition("t", 1)

    private func member(_ peer: Peer, _ more: [(name: String, value: String)] = []) throws -> Member {
        try peer.cluster.createTopic("t", partitions: 2)
        let member = try Member(peer.cluster, group: "g", more)
        member.readsAtOnce = false
        try member.until { $0.owned.count == 2 }
        return member
    }

    @Test("A commit is answered with its number and can be read back with its metadata")
    func commit() throws {
        let peer = try Peer()
        let member = try member(peer)
        member.consumer.commit([Position(one, offset: 7, metadata: "abc-_")], number: 0)
        member.consumer.commit([Position(one, offset: 8, metadata: "def")], number: 4_000_000_000)
        try member.until { $0.commits().count == 2 }
        expect(member.commits().map(\.0), is: [0, 4_000_000_000])
        #expect(member.commits().allSatisfy { $0.1 == .accepted })
        member.consumer.askCommitted([zero, one])
        try member.until { $0.committed().count == 2 }
        expect(member.committed()[one], is: Position(one, offset: 8, metadata: "def"))
        expect(member.committed()[zero].map { $0.offset < 0 }, is: true)
        #expect(try member.leave())
    }

    @Test(
        "The answer to a refused commit says whether to retry it", .thorough,
        arguments: [(27, true), (15, true), (22, false), (25, false)])
    func refused(code: Int32, again: Bool) throws {
        let peer = try Peer()
        let member = try member(peer)
        peer.cluster.failRequests(.offsetCommit, with: [code])
        member.consumer.commit([Position(one, offset: 7)], number: 1)
        if code == 15 {
            // librdkafka looks the coordinator up and retries the commit.
            try member.until { $0.commits().map(\.1) == [.accepted] }
        } else {
            try member.until { $0.commits().count == 1 }
            switch member.commits()[0].1 {
            case .retry: #expect(again)
            case .refused: #expect(!again)
            default: Issue.record("\(member.commits())")
            }
        }
        #expect(try member.leave())
    }

    @Test("A member notices that the group has lost it before the event arrives")
    func lost() throws {
        let peer = try Peer()
        let member = try member(peer)
        #expect(!member.consumer.hasNewMemberID)
        // UNKNOWN_MEMBER_ID
        peer.cluster.failRequests(.heartbeat, with: [25])
        let end = ContinuousClock.now + .seconds(20)
        while !member.consumer.hasNewMemberID, .now < end { member.signal.wait(nanoseconds: 10_000_000) }
        #expect(member.consumer.hasNewMemberID)
        try member.until { $0.events.contains { if case .lost = $0 { true } else { false } } }
        #expect(try member.leave())
    }

    @Test("Committed offsets are asked for again until the coordinator returns them")
    func committedLater() throws {
        let peer = try Peer()
        let member = try member(peer)
        member.consumer.commit([Position(one, offset: 7, metadata: "m")], number: 1)
        try member.until { $0.commits().count == 1 }
        // UNSTABLE_OFFSET_COMMIT, then COORDINATOR_LOAD_IN_PROGRESS
        peer.cluster.failRequests(.offsetFetch, with: [88, 88, 14, 88])
        member.consumer.askCommitted([one])
        try member.until { $0.committed().count == 1 }
        expect(member.committed()[one], is: Position(one, offset: 7, metadata: "m"))
        peer.cluster.failRequests(.offsetFetch, with: [88])
        member.consumer.askCommitted([zero, one])
        try member.consumer.giveBack([one])
        try member.until { $0.committed()[zero] != nil }
        #expect(try member.leave())
    }

    @Test("Nothing that is asked waits for a fetch that waits for records")
    func besideFetch() throws {
        let peer = try Peer()
        let member = try member(peer, [("fetch.wait.max.ms", "300000")])
        _ = try peer.publish("v", to: "t", partition: 1)
        _ = peer.reports(1)
        // The fetch that follows the first record waits for another.
        try member.read([one])
        try member.until { $0.taken[one] != nil }
        member.consumer.askCommitted([one])
        member.consumer.askRange(one)
        member.consumer.askRecord(Position(one, offset: 0))
        try member.until { $0.committed()[one] != nil }
        try member.until { $0.events.contains { if case .range = $0 { true } else { false } } }
        try member.until { $0.events.contains { if case .record = $0 { true } else { false } } }
        #expect(try member.leave())
    }

    @Test("Committed offsets are found after the coordinator has moved to another broker")
    func coordinatorMoves() throws {
        let peer = try Peer(brokers: 2)
        peer.cluster.setCoordinator(ofGroup: "g", broker: 1)
        let member = try member(peer)
        member.consumer.commit([Position(one, offset: 7)], number: 1)
        try member.until { $0.commits().count == 1 }
        member.consumer.askCommitted([one])
        try member.until { $0.committed()[one]?.offset == 7 }
        // A client that knew the former coordinator would keep asking it forever.
        peer.cluster.failRequests(.offsetFetch, of: 1, with: 16, count: 1000)
        peer.cluster.setCoordinator(ofGroup: "g", broker: 2)
        let before = member.events.count
        member.consumer.askCommitted([one])
        try member.until { $0.events[before...].contains(.committed([Position(one, offset: 7)])) }
        #expect(try member.leave())
    }

    @Test("Offsets asked for during a coordinator outage arrive once it is over", .thorough, arguments: [6, 25])
    func coordinatorAway(seconds: Int) throws {
        let peer = try Peer()
        let member = try member(peer, [("session.timeout.ms", "60000")])
        member.consumer.commit([Position(one, offset: 7)], number: 1)
        try member.until { $0.commits().count == 1 }
        peer.cluster.setDown()
        for _ in 0..<25 { try member.turn() }
        member.consumer.askCommitted([one])
        let back = ContinuousClock.now + .seconds(seconds)
        while .now < back { try member.turn() }
        peer.cluster.setUp()
        try member.until { $0.committed()[one]?.offset == 7 }
        #expect(try member.leave())
    }

    @Test("A partition without a leader does not delay the log ranges of others")
    func leaderless() throws {
        let peer = try Peer()
        let member = try member(peer)
        _ = try peer.publish("v", to: "t", partition: 1)
        _ = peer.reports(1)
        peer.cluster.setLeader(of: zero, broker: -1)
        member.consumer.askRange(zero)
        member.consumer.askRange(one)
        func ranges() -> [TopicPartition: Range<Int64>] {
            var all: [TopicPartition: Range<Int64>] = [:]
            for case .range(let partition, let range) in member.events { all[partition] = range }
            return all
        }
        try member.until { _ in !ranges().isEmpty }
        expect(ranges(), is: [one: 0..<1])
        peer.cluster.setLeader(of: zero, broker: 1)
        try member.until { _ in ranges().count == 2 }
        expect(ranges()[zero], is: 0..<0)
        #expect(try member.leave())
    }

    @Test("What a log has at an offset is found out without reading the partition, also once it has a leader again")
    func records() throws {
        let peer = try Peer()
        let member = try member(peer)
        try peer.fill("t", partitions: 2, each: 3)
        peer.cluster.setLeader(of: zero, broker: -1)
        func answers(_ offset: Int64, of partition: TopicPartition) -> [Int64?] {
            member.events.compactMap { event in
                guard case .record(Position(partition, offset: offset), let timestamp) = event else { return nil }
                return .some(timestamp)
            }
        }
        for position in [Position(zero, offset: 2), Position(one, offset: 2)] { member.consumer.askRecord(position) }
        try member.until { _ in !answers(2, of: one).isEmpty }
        #expect(try #require(answers(2, of: one)[0]) > 0)
        #expect(answers(2, of: zero).isEmpty)
        // Behind the log's end there is nothing, nor where a later question has replaced this one.
        member.consumer.askRecord(Position(one, offset: 9))
        try member.until { _ in !answers(9, of: one).isEmpty }
        expect(answers(9, of: one), is: [nil])
        peer.cluster.setLeader(of: zero, broker: 1)
        try member.until { _ in !answers(2, of: zero).isEmpty }
        #expect(try #require(answers(2, of: zero)[0]) > 0)
        #expect(member.taken.isEmpty)
        #expect(try member.leave())
    }

    @Test("A wait ends at a wake-up, even an earlier one, an event, or a wanted record")
    func wakes() async throws {
        let peer = try Peer()
        let member = try member(peer)
        let (consumer, signal) = (member.consumer, member.signal)
        let begin = ContinuousClock.now
        try member.turn()
        signal.wake()
        consumer.wait(milliseconds: 60_000, records: false)
        async let woken: Void = Task.detached { signal.wake() }.value
        consumer.wait(milliseconds: 60_000, records: false)
        await woken
        // The answer to a commit is an event.
        consumer.commit([Position(one, offset: 1)], number: 9)
        while member.commits().isEmpty { try member.turn(records: 0, milliseconds: 60_000) }
        try member.read([one])
        try member.turn()
        _ = try peer.publish("v", to: "t", partition: 1)
        _ = peer.reports(1)
        while member.taken[one] == nil { try member.turn(records: 1, milliseconds: 60_000) }
        // Records left in the queue end a wait without a new one arriving.
        try peer.fill("t", partitions: 2, each: 3)
        while (member.taken[one]?.count ?? 0) < 4 { try member.turn(records: 1, milliseconds: 60_000) }
        #expect(begin.duration(to: .now) < .seconds(50))
        #expect(try member.leave())
    }
}
