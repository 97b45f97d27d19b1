import PushmillKafka
import PushmillTelemetry
import Testing

@testable import Pushmill

@Suite("The topic of contacts at start")
struct ContactTopicTests {
    private static let others: [(contacts: Int, inputs: [Int], what: String?)] = [
        (3, [3], nil), (3, [3, 3], nil), (2, [3], "people has 2 partitions and in0 has 3"),
        (3, [3, 4], "people has 3 partitions and in1 has 4"),
    ]

    @Test("One that is co-partitioned has as many partitions as each input", arguments: others)
    func partitions(contacts: Int, inputs: [Int], what: String?) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("people", partitions: contacts)
        for (index, count) in inputs.enumerated() { try cluster.createTopic("in\(index)", partitions: count) }
        func check(isCoPartitioned: Bool) throws -> ProbeReason? {
            do {
                try ContactTopic(name: "people", isCoPartitioned: isCoPartitioned).check(
                    beside: inputs.indices.map { "in\($0)" },
                    ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]))
                return nil
            } catch {
                guard case .outside(let reason) = error else { throw error }
                return reason
            }
        }
        #expect(try check(isCoPartitioned: false) == nil)
        let error = try check(isCoPartitioned: true)
        #expect((error == nil) == (what == nil))
        guard let what else { return }
        #expect(error?.reason == "topic-mismatch")
        #expect(error?.detail.contains(what) == true)
    }
}
