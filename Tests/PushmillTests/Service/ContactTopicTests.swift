import Glibc
import PushmillEngine
import PushmillKafka
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("The contacts topic at startup")
struct ContactTopicTests {
    private static let named = getenv("PUSHMILL_TEST_BROKERS").map { String(cString: $0) }
    private static let others: [(contacts: Int, inputs: [Int], what: String?)] = [
        (3, [3], nil), (3, [3, 3], nil), (2, [3], "people has 2 partitions and in0 has 3"),
        (3, [3, 4], "people has 3 partitions and in1 has 4"),
    ]

    @Test("A co-partitioned contacts topic must have as many partitions as each input", arguments: others)
    func partitions(contacts: Int, inputs: [Int], what: String?) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("people", partitions: contacts)
        for (index, count) in inputs.enumerated() { try cluster.createTopic("in\(index)", partitions: count) }
        let properties = ClientProperties([("bootstrap.servers", cluster.bootstrapServers)])
        var settings = EngineSettings(
            consumer: properties, producer: properties, input: inputs.indices.map { "in\($0)" }, output: "out",
            deadLetters: "dead")
        func check(isCoPartitioned: Bool) throws -> ProbeReason? {
            let contacts = ContactTopic(name: "people", isCoPartitioned: isCoPartitioned)
            do {
                _ = try Startup.check(&settings, contacts: contacts, Log())
                return nil
            } catch {
                guard case .outside(let reason) = error else { throw error }
                return reason
            }
        }
        #expect(try check(isCoPartitioned: false) == nil)
        let error = try check(isCoPartitioned: true)
        expect((error == nil), is: (what == nil))
        guard let what else { return }
        expect(error?.reason, is: "topic-mismatch")
        expect(error?.detail.contains(what), is: true)
    }

    @Test(
        "A contacts topic whose records are deleted is warned of",
        .enabled(if: named != nil, "the mock tells no settings of topics"),
        arguments: [("compact", false), ("delete", true), ("compact,delete", true)])
    func policies(policy: String, isWarnedOf: Bool) throws {
        let client = try ClusterClient(ClientProperties([("bootstrap.servers", try #require(Self.named))]))
        let topic = "test-\(UInt64.random(in: 0 ... .max))"
        try client.createTopic(topic, partitions: 1, settings: [("cleanup.policy", policy)], milliseconds: 30_000)
        let log = Log()
        ContactTopic(name: topic, isCoPartitioned: false).checkCompaction(client, log)
        var cursor = 0
        let lines = log.ring.read(from: &cursor).lines
        expect(lines.count, is: (isWarnedOf ? 1 : 0))
        #expect(lines.allSatisfy { $0.level == .warning && $0.fields.contains(.reason(policy)) })
    }
}
