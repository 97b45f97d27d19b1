import Glibc
import PushmillKafka
import Testing

extension EndToEnd {
    @Suite("Whether a service is ready")
    struct ReadinessTests {
        @Test("It is alive at once, ready when it has joined, and its lag goes to nothing")
        func readiness() async throws {
            try await Scene.play(partitions: 2) { scene in
                // The service does not join before it was asked. LEADER_NOT_AVAILABLE
                scene.brokers.mock?.setTopicError(scene.input, code: 5)
                let service = try scene.start()
                try await service.wait(forLine: "the admin endpoint is up")
                let client = try #require(try AdminClient(of: service))
                let early = try await elsewhere { (try client.ask("/healthz"), try client.ask("/readyz")) }
                #expect(early.0.contains(" 200 OK"))
                #expect(early.1.contains(" 503 ") && early.1.contains(/"reason":"(starting|not-joined)"/))
                scene.brokers.mock?.setTopicError(scene.input, code: 0)
                try await service.wait(forPartitionsRead: 2)
                try await client.wait(for: "ready", at: "/readyz") { $0.contains(" 200 OK") }
                try await scene.feeder.publish(Event.series(100, keys: 10))
                try await scene.outputs.wait(count: 100)
                for partition in 0..<2 {
                    let series = "pushmill_consumer_lag_records{topic=\"\(scene.input)\",partition=\"\(partition)\"}"
                    try await client.wait(for: "no lag of \(partition)") { $0.contains("\n\(series) 0.0\n") }
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A partition that another instance has taken over has no lag here any more")
        func revoked() async throws {
            try await Scene.play(partitions: 2) { scene in
                // Members of the group are shards: with more of them than partitions nothing would move.
                let first = try scene.start(ServiceConfiguration(cores: 1))
                try await first.wait(forLine: "partitions are read")
                let client = try #require(try AdminClient(of: first))
                @Sendable func partitions(_ metrics: String) -> Int {
                    metrics.matches(of: /\npushmill_consumer_lag_records\{/).count
                }
                try await scene.feeder.publish(Event.series(20, keys: 10))
                try await client.wait(for: "two partitions") { partitions($0) == 2 }
                let second = try scene.start(ServiceConfiguration(cores: 1))
                try await second.wait(forLine: "partitions are read")
                try await client.wait(for: "one partition") { partitions($0) == 1 }
            }
        }
    }
}
