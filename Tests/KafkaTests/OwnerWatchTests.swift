import PushmillTestSupport
import Testing

@testable import PushmillKafka

@Suite("Partitions without an owner", .serialized, .ownThread)
struct OwnerWatchTests {
    @Test("A static member that subscribes to patterns rejoins, keeps its partitions and reads on", .thorough)
    func rejoins() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t.a", partitions: 2)
        // An unescaped dot in the pattern would match this topic.
        try peer.cluster.createTopic("txa", partitions: 2)
        try peer.fill("t.a", partitions: 2, each: 3)
        try peer.fill("txa", partitions: 2, each: 3)
        let member = try Member(peer.cluster, group: "g", [("group.instance.id", "i")], topic: "t.a")
        try member.until { $0.taken.count == 2 }
        let (owned, before) = (member.owned, member.rebalances)
        let owners = try #require(member.consumer.owners)
        #expect(owners.subscribe(toPatterns: true))
        try member.until { $0.rebalances > before }
        #expect(owners.subscribe(toPatterns: false))
        try peer.fill("t.a", partitions: 2, each: 3)
        try member.until { $0.taken.values.allSatisfy { $0.count == 6 } }
        expect(member.owned, is: owned)
        expect(member.gaps, is: [])
        #expect(try member.leave())
        #expect(!owners.subscribe(toPatterns: true), "nothing is asked of one that leaves")
    }

    @Test("Only a static member looks for partitions without an owner")
    func dynamic() throws {
        let peer = try Peer()
        let member = try Member(peer.cluster, group: "g")
        #expect(member.consumer.owners == nil)
    }

    private static let assignment: [UInt8] =
        [0, 1] + [0, 0, 0, 2]
        + [0, 1, 0x74] + [0, 0, 0, 2] + [0, 0, 0, 7] + [0, 0, 1, 0]
        + [0, 2, 0xc3, 0xa9] + [0, 0, 0, 0]
        + [0xff, 0xff, 0xff, 0xff]

    private func partitions(_ bytes: some Collection<UInt8>) -> [TopicPartition]? {
        Array(bytes).withUnsafeBytes { MemberAssignment($0)?.partitions }
    }

    @Test("A member's partitions are decoded from its assignment, whatever bytes follow")
    func assignment() {
        let all = [TopicPartition("t", 7), TopicPartition("t", 256)]
        expect(partitions(Self.assignment), is: all)
        expect(partitions(Self.assignment + [1, 2, 3]), is: all)
        expect(partitions([]), is: [])
        expect(partitions([0, 0] + [0, 0, 0, 0]), is: [])
    }

    @Test("An assignment that is cut off or overstates its counts is rejected")
    func malformed() {
        // The assignor's own bytes at the end are not needed.
        let needed = Self.assignment.count - 4
        for count in 1..<needed { #expect(partitions(Self.assignment.prefix(count)) == nil, "\(count)") }
        expect(partitions(Self.assignment.prefix(needed))?.count, is: 2)
        #expect(partitions([0, 1] + [0x7f, 0xff, 0xff, 0xff] + [0, 1, 0x74] + [0, 0, 0, 0]) == nil)
        #expect(partitions([0, 1] + [0, 0, 0, 1] + [0, 1, 0x74] + [0x7f, 0xff, 0xff, 0xff] + [0, 0, 0, 0]) == nil)
        #expect(partitions([0, 1] + [0, 0, 0, 1] + [0xff, 0xff]) == nil)
    }
}
