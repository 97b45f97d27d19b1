import Glibc
import PushmillKafka
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("The changelog topic at startup")
struct ChangelogTopicTests {
    private static let named = getenv("PUSHMILL_TEST_BROKERS").map { String(cString: $0) }
    private let cluster: MockCluster

    init() throws { cluster = try MockCluster() }

    /// What the service waits for, if anything.
    private func prepare(_ name: String, beside input: String, on servers: String) throws -> ProbeReason? {
        let properties = ClientProperties([("bootstrap.servers", servers)])
        let client = try ClusterClient(properties)
        let count = try client.partitionCount(of: input, milliseconds: 10_000)
        do {
            try ChangelogTopic(name, beside: TopicPartitions(name: input, count: count), properties)
                .prepare(client, Log())
            return nil
        } catch {
            guard case .outside(let reason) = error else { throw error }
            return reason
        }
    }

    @Test("A changelog with as many partitions as the input is used as it is")
    func equal() throws {
        for topic in ["in", "badges"] { try cluster.createTopic(topic, partitions: 3) }
        let error = try prepare("badges", beside: "in", on: cluster.bootstrapServers)
        #expect(error == nil)
    }

    @Test("The service waits for a changelog with the right number of partitions", arguments: [1, 2, 4])
    func unequal(partitions: Int) throws {
        try cluster.createTopic("in", partitions: 3)
        try cluster.createTopic("badges", partitions: partitions)
        let error = try #require(try prepare("badges", beside: "in", on: cluster.bootstrapServers))
        expect(error.reason, is: "topic-mismatch")
        #expect(error.detail.contains("badges has \(partitions) partitions and in has 3"))
    }

    @Test("If the brokers refuse to create the changelog, the reason says how to create it")
    func refused() throws {
        try cluster.createTopic("in", partitions: 3)
        try cluster.createTopic("badges", partitions: 3)
        cluster.setTopicError("badges", code: 3)
        let error = try #require(try prepare("badges", beside: "in", on: cluster.bootstrapServers))
        expect(error.reason, is: "unknown-topic")
        #expect(error.detail.contains("create it with 3 partitions and cleanup.policy=compact"))
    }

    @Test(
        "A changelog that is not compacted is not used: it would lose counts",
        .enabled(if: named != nil, "the mock tells no settings of topics"), arguments: ["delete", "compact,delete"])
    func notCompacted(policy: String) throws {
        let servers = try #require(Self.named)
        let name = "test-\(UInt64.random(in: 0 ... .max))"
        let client = try ClusterClient(ClientProperties([("bootstrap.servers", servers)]))
        for topic in ["in", "badges"] {
            try client.createTopic(
                "\(name)-\(topic)", partitions: 2, settings: [("cleanup.policy", policy)], milliseconds: 30_000)
        }
        let error = try #require(try prepare("\(name)-badges", beside: "\(name)-in", on: servers))
        expect(error.reason, is: "topic-mismatch")
        #expect(error.detail.contains("cleanup.policy=\(policy)"))
    }

    @Test(
        "A missing changelog is created", .enabled(if: named != nil, "the mock creates no topics on request"))
    func created() throws {
        let servers = try #require(Self.named)
        let name = "test-\(UInt64.random(in: 0 ... .max))"
        let client = try ClusterClient(ClientProperties([("bootstrap.servers", servers)]))
        try client.createTopic("\(name)-in", partitions: 7, milliseconds: 30_000)
        func prepare() throws -> ProbeReason? { try self.prepare("\(name)-badges", beside: "\(name)-in", on: servers) }
        var reason = try prepare()
        // Other brokers may not know the topic at once.
        for _ in 0..<50 where reason?.reason == "starting" {
            usleep(200_000)
            reason = try prepare()
        }
        #expect(reason == nil)
        #expect(try prepare() == nil)
        try expect(client.partitionCount(of: "\(name)-badges", milliseconds: 10_000), is: 7)
    }
}
