import PushmillKafka
import PushmillTestSupport
import Synchronization
import Testing

@Suite("A group member that starts reading late", .serialized, .ownThread)
struct GroupConsumerTests {
    private let one = TopicPartition("t", 1)

    @Test("A member reads an assigned partition only when told to, from the given offset")
    func assignLate() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 10)
        let member = try Member(peer.cluster, group: "g")
        member.readsAtOnce = false
        try member.until { $0.owned.count == 2 }
        for _ in 0..<20 { try member.turn() }
        #expect(member.taken.isEmpty)
        try member.read([one], from: 4)
        try member.until { $0.taken[one]?.count == 6 }
        expect(member.taken, is: [one: Array(4..<10)])
        try member.read([TopicPartition("t", 0)])
        try member.until { $0.taken.values.map(\.count).reduce(0, +) == 16 }
        expect(member.gaps, is: [])
        #expect(try member.leave())
    }

    @Test(
        "Partitions that were never read pass to another member when revoked or at a leave", .thorough
    )
    func giveBackUnread() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 4)
        try peer.fill("t", partitions: 4, each: 10)
        let first = try Member(peer.cluster, group: "g")
        first.readsAtOnce = false
        try first.until { $0.owned.count == 4 }
        let second = try Member(peer.cluster, group: "g")
        try first.until {
            try? second.turn()
            return $0.owned.count == 2 && second.owned.count == 2
        }
        try second.until { $0.taken.values.map(\.count).reduce(0, +) == 20 }
        #expect(first.taken.isEmpty && second.gaps.isEmpty)
        #expect(try first.leave())
        try second.until { $0.taken.values.map(\.count).reduce(0, +) == 40 }
        expect(second.gaps, is: [])
        #expect(try second.leave())
    }

    @Test("A member without partitions leaves its group, too: nobody waits for its session to end", .thorough)
    func leaveIdle() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let first = try Member(peer.cluster, group: "g")
        try first.until { $0.owned.count == 1 }
        let hasLeft = Atomic(false)
        let idle = try Member(peer.cluster, group: "g", [("debug", "protocol")]) { _, _, line in
            if line.contains("Sent LeaveGroupRequest") { hasLeft.store(true, ordering: .relaxed) }
        }
        try first.until { _ in
            try? idle.turn()
            return idle.rebalances > 0
        }
        expect(idle.owned, is: [])
        #expect(try idle.leave())
        expect(hasLeft.load(ordering: .relaxed), is: true)
        #expect(try first.leave())
    }

    @Test("A member that has not answered a rebalance can leave the group", .thorough, arguments: [true, false])
    func leaveUnanswered(reads: Bool) throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let first = try Member(peer.cluster, group: "g")
        first.readsAtOnce = reads
        try first.until { $0.owned.count == 2 }
        first.answers = false
        let second = try Member(peer.cluster, group: "g")
        try first.until {
            try? second.turn()
            return $0.events.contains { if case .revoked(let all) = $0 { !all.isEmpty } else { false } }
        }
        #expect(try first.leave())
        try second.until { $0.owned.count == 2 }
        #expect(try second.leave())
        let third = try Member(peer.cluster, group: "h")
        third.answers = false
        try third.until { !$0.events.isEmpty }
        #expect(try third.leave())
    }

    @Test("A member that loses its partitions rejoins, reading them or not", .thorough, arguments: [true, false])
    func lostUnread(reads: Bool) throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 10)
        let member = try Member(peer.cluster, group: "g")
        member.readsAtOnce = reads
        try member.until { $0.owned.count == 2 }
        // UNKNOWN_MEMBER_ID
        peer.cluster.failRequests(.heartbeat, with: [25])
        try member.until {
            $0.events.contains {
                if case .lost(let all) = $0 { all.count == 2 } else { false }
            }
        }
        try member.until { $0.owned.count == 2 }
        member.readsAtOnce = true
        if !reads { try member.read(member.owned) }
        try member.until { $0.taken[one]?.last == 9 }
        #expect(try member.leave())
    }

    @Test("A partition that was given back can be read again at once, many times")
    func hurry() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 10)
        let member = try Member(peer.cluster, group: "g")
        member.readsAtOnce = false
        try member.until { $0.owned.count == 2 }
        for offset in 0..<50 {
            try member.read([one], from: Int64(offset % 10))
            if offset % 3 == 0 { try member.turn() }
            try member.consumer.giveBack([one])
        }
        try member.read([one], from: 3)
        let before = member.taken[one]?.count ?? 0
        try member.until { ($0.taken[one]?.count ?? 0) == before + 7 }
        expect(member.taken[one]?.suffix(7), is: [3, 4, 5, 6, 7, 8, 9])
        #expect(try member.leave())
    }

    @Test("A partition continues at each seek offset, even right after reading has begun")
    func seek() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 500)
        let member = try Member(peer.cluster, group: "g")
        try member.until { $0.owned.count == 2 }
        #expect(!member.consumer.seek(to: Position(TopicPartition("t", 7), offset: 1)))
        for offset in [400, 0, 499, 250, 3] as [Int64] {
            while !member.consumer.seek(to: Position(one, offset: offset)) {}
            var record = member.consumer.nextRecord()
            while record?.partition != 1 {
                record?.destroy()
                member.consumer.wait(milliseconds: 50, records: true)
                record = member.consumer.nextRecord()
            }
            expect(record?.offset, is: offset)
            record?.destroy()
        }
        #expect(try member.leave())
    }

    @Test("An offset outside the log is reported for its partition alone, and a seek recovers")
    func outOfLog() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 10)
        let member = try Member(peer.cluster, group: "g")
        member.readsAtOnce = false
        member.seeks = false
        try member.until { $0.owned.count == 2 }
        func count() -> Int {
            member.events.count { if case .outOfLog(let partition) = $0 { partition == one } else { false } }
        }
        try member.read([one], from: 1000)
        try member.read([TopicPartition("t", 0)])
        try member.until { _ in count() == 1 }
        try member.until { $0.taken[TopicPartition("t", 0)]?.count == 10 }
        #expect(member.taken[one] == nil)
        member.consumer.askRange(one)
        try member.until { $0.events.contains { if case .range(one, 0..<10) = $0 { true } else { false } } }
        while !member.consumer.seek(to: Position(one, offset: 5)) {}
        try member.until { $0.taken[one]?.count == 5 }
        expect(member.taken[one], is: [5, 6, 7, 8, 9])
        while !member.consumer.seek(to: Position(one, offset: 2000)) {}
        try member.until { _ in count() == 2 }
        while !member.consumer.seek(to: Position(one, offset: Position.beginning)) {}
        try member.until { $0.taken[one]?.count == 15 }
        #expect(try member.leave())
    }

    @Test(
        "A small prefetch queue stays filled: librdkafka alone would check for room once a second",
        arguments: [1, 3])
    func smallQueue(brokers: Int) throws {
        let peer = try Peer(brokers: brokers, producer: [("batch.num.messages", "50")])
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 20_000)
        let member = try Member(peer.cluster, group: "g", [("queued.max.messages.kbytes", "1")])
        // At a second for every hundred records or so, reading them all would exceed the time limit.
        try member.until { $0.taken.values.map(\.count).reduce(0, +) == 40_000 }
        expect(member.gaps, is: [])
        #expect(try member.leave())
    }

    @Test("Under load, members join and leave without gaps, and every record is read once", .thorough)
    func rebalances() throws {
        let peer = try Peer()
        let each = 5000
        try peer.cluster.createTopic("t", partitions: 6)
        try peer.fill("t", partitions: 6, each: each)
        var resume: [TopicPartition: Int64] = [:]
        var taken: [TopicPartition: [Int64]] = [:]
        var members: [Member] = []
        var rebalances = 0
        func turn(records: Int) throws {
            for member in members {
                member.resume = resume
                try member.turn(records: records, milliseconds: 2)
                expect(member.gaps, is: [])
                for (partition, offsets) in member.taken {
                    taken[partition, default: []] += offsets
                    // The next owner continues where the previous one stopped.
                    resume[partition] = (offsets.last ?? -1) + 1
                }
                member.forgetTaken()
                rebalances += member.rebalances
                member.rebalances = 0
            }
        }
        func settle(_ records: Int) throws {
            let end = ContinuousClock.now + .seconds(60)
            while members.map(\.owned.count).reduce(0, +) < 6
                || members.contains(where: { $0.owned.count * members.count < 6 })
            {
                try #require(.now < end)
                try turn(records: records)
            }
        }
        for change in [1, 1, -1, 1, -1] {
            if change > 0 {
                members.append(try Member(peer.cluster, group: "g"))
            } else {
                #expect(try members.removeFirst().leave())
            }
            try settle(1)
        }
        while taken.values.map(\.count).reduce(0, +) < 6 * each { try turn(records: 100) }
        #expect(rebalances > 6)
        #expect(taken.values.allSatisfy { $0 == Array(0..<Int64(each)) })
        for member in members { #expect(try member.leave()) }
    }
}
