import PushmillTestSupport
import Testing

@testable import PushmillKafka

@Suite("librdkafka's statistics", .serialized, .ownThread)
struct StatisticsTests {
    @Test("Statistics tell a consumer its partitions' ends and a producer its broker's round trip")
    func live() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        let output = try Output(peer.cluster, [("statistics.interval.ms", "50")])
        let producer = output.producer
        #expect(producer.statistics.latest == nil)
        try output.publish(0..<6, partitions: 2)
        try output.until { $0.stored.count == 6 && $0.producer.statistics.latest?.roundTrips.isEmpty == false }
        expect(producer.statistics.latest?.roundTrips.map(\.broker), is: [1])
        expect(producer.statistics.latest?.roundTrips.allSatisfy { $0.seconds > 0 && $0.seconds < 5 }, is: true)

        expect(producer.statistics.latest?.partitions.count, is: 0, "nothing reads them")

        let member = try Member(peer.cluster, group: "g", [("statistics.interval.ms", "50")])
        let consumer = member.consumer
        func partition() -> ClientStatistics.Partition? {
            consumer.statistics.latest?.partitions.first { $0.id == TopicPartition("t", 1) }
        }
        // A measurement from before the records were read still counts them as fetched.
        try member.until { _ in partition().map { ($0.nextOffset, $0.end, $0.fetched) == (3, 3, 0) } == true }
        expect(partition()?.isReached, is: true)
        let brokers = consumer.statistics.latest?.roundTrips.map(\.broker) ?? []
        expect(Set(brokers).count, is: brokers.count, "a broker that coordinates is one nevertheless")
        expect(consumer.statistics.latest?.partitions.allSatisfy { $0.id.partition >= 0 }, is: true)
        #expect(try member.leave())
    }

    @Test("Statistics not in the documented form are ignored", arguments: ["", "{}", "[", #"{"msg_cnt":"x"}"#])
    func malformed(_ text: String) {
        let inbox = StatisticsInbox()
        inbox.take(Array(text.utf8))
        #expect(inbox.latest == nil)
    }

    @Test("Bootstrap addresses, coordinators and records without a partition are left out")
    func selection() throws {
        let text = #"""
            {"name":"x","type":"consumer","msg_cnt":2,"msg_size":60,"brokers":{
            "h:1/bootstrap":{"nodeid":-1,"source":"configured","state":"UP","rtt":{"avg":9,"cnt":9}},
            "h:1/2":{"nodeid":2,"source":"learned","state":"UP","rtt":{"avg":1500,"cnt":1}},
            "GroupCoordinator":{"nodeid":2,"source":"logical","state":"UP",
            "rtt":{"avg":70,"cnt":1}},"GroupCoordinator/3":{"nodeid":3,"source":"logical","state":"UP",
            "rtt":{"avg":70,"cnt":1}},
            "h:1/3":{"nodeid":3,"source":"learned","state":"DOWN","rtt":{"avg":0,"cnt":0}}},
            "topics":{"t":{"topic":"t","partitions":{
            "0":{"partition":0,"broker":2,"fetchq_cnt":4,"next_offset":5,"hi_offset":9,"ls_offset":7},
            "1":{"partition":1,"broker":3,"fetchq_cnt":0,"next_offset":-1001,"hi_offset":9,"ls_offset":-1001},
            "-1":{"partition":-1,"broker":-1,"fetchq_cnt":0,"next_offset":0,"hi_offset":0,"ls_offset":0}}}}}
            """#
        let statistics = try #require(ClientStatistics(json: Array(text.utf8)))
        expect(statistics.roundTrips.map(\.broker), is: [2])
        expect(statistics.roundTrips.map(\.seconds), is: [0.0015])
        expect(Set(statistics.partitions.map { [$0.id.partition, Int32($0.end)] }), is: [[0, 7], [1, 9]])
        expect(statistics.partitions.filter(\.isReached).map(\.id.partition), is: [0])
        // An unknown last stable offset hides nothing.
        expect(Set(statistics.partitions.map { [$0.id.partition, Int32($0.hidden)] }), is: [[0, 2], [1, 0]])
        #expect(statistics.queuedMessages == 2 && statistics.queuedBytes == 60)
    }
}
