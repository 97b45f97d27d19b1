import Glibc
import Testing

extension EndToEnd {
    @Suite("Instances that come back too late, or never", .needsTransactions)
    struct ZombieTests {
        private let events = Event.series(8_000, keys: 400)

        @Test("An instance replaced while stopped commits nothing it had begun, and starts over")
        func replaced() async throws {
            try await Scene.play { scene in
                let zombie = try scene.start(.exactlyOnce(0, of: scene))
                try await zombie.wait(forLine: "serving partitions")
                async let fed: Void = scene.feeder.publish(events, rate: 2_000)
                try await scene.outputs.wait(count: 2_000)
                zombie.send(SIGSTOP)
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                configuration.state = "other/state.sqlite"
                let next = try scene.start(configuration)
                try await fed
                try await scene.outputs.wait(count: events.count)
                zombie.send(SIGCONT)
                try await zombie.wait(forLine: "a producer has failed: replacing it")
                for service in [zombie, next] {
                    service.send(SIGTERM)
                    try await service.expectEnd(.exited(0))
                }
                let arrivals = try await scene.allOutputs()
                #expect(arrivals.missing(of: events).isEmpty && arrivals.repeats.isEmpty)
                #expect(arrivals.keysOutOfOrder.isEmpty)
            }
        }

        @Test("A killed instance's open transaction delays readers no longer than its timeout")
        func abandoned() async throws {
            let events = Event.series(1_000, keys: 100)
            try await Scene.play { scene in
                // Long enough that the first instance commits nothing.
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                configuration.delivery = [("guarantee", "exactly-once"), ("checkpoint-interval", "10s")]
                configuration.producer += [("transaction.timeout.ms", "20000")]
                let first = try scene.start(configuration)
                try await first.wait(forLine: "the admin endpoint is up")
                let admin = try #require(try AdminClient(of: first))
                try await scene.feeder.publish(events)
                try await admin.wait(for: "every output to be stored") { metrics in
                    metrics.contains(#"pushmill_records_published_total{outcome="modified"} \#(events.count)"#)
                }
                #expect(scene.outputs.all.isEmpty)
                first.send(SIGKILL)
                let begin = ContinuousClock.now
                let second = try scene.start(.exactlyOnce(1, of: scene))
                // The session of 6 s, the transaction's 20 s, and time for a busy machine.
                try await scene.outputs.wait(count: events.count, within: .seconds(45))
                print("abandoned: read \(begin.duration(to: .now)) after the kill")
                second.send(SIGTERM)
                try await second.expectEnd(.exited(0))
                let arrivals = try await scene.allOutputs()
                #expect(arrivals.missing(of: events).isEmpty && arrivals.repeats.isEmpty)
            }
        }
    }
}
