import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Exactly once, beside messages that hang")
    struct BesideHangingTests {
        /// Starts a service with a stage for marked recipients, and publishes the events.
        private func publish(_ events: [Event], in scene: Scene, stage: String) async throws -> ServiceProcess {
            var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
            configuration.delivery += [("deadline", "120s")]
            configuration.stages = [stage]
            let service = try scene.start(configuration)
            try await service.wait(forLine: "serving partitions")
            try await scene.feeder.publish(events)
            return service
        }

        @Test("Messages beside hanging ones are committed at once, and a kill repeats none")
        func kill() async throws {
            let events = Event.series(4_000, keys: 400, marking: 100)
            let unmarked = events.count { !$0.isMarked }
            try await Scene.play { scene in
                let service = try await publish(events, in: scene, stage: "sleep: { marker: slow, time: 60s }")
                let arrivals = try await scene.outputs.wait(count: unmarked)
                #expect(arrivals.allSatisfy { !$0.event.isMarked })
                service.send(SIGKILL)
                try await service.expectEnd(.signalled(SIGKILL))
                let next = try scene.start(.exactlyOnce(1, of: scene))
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                next.send(SIGTERM)
                try await next.expectEnd(.exited(0))
                let all = try await scene.allOutputs()
                #expect(all.missing(of: events).isEmpty && all.keysOutOfOrder.isEmpty)
                // The mock drops the offsets of transactions.
                if !Brokers.areMock { #expect(all.repeats.isEmpty) }
            }
        }

        @Test("A partition with more completed messages than a commit can record waits, then continues", .thorough)
        func window() async throws {
            let events = Event.series(30_000, keys: 30_000, marking: 10)
            try await Scene.play(partitions: 1) { scene in
                let folder = try TemporaryFolder()
                let gate = try folder.write("", to: "gate")
                let service = try await publish(events, in: scene, stage: "gate: { marker: slow, file: \(gate) }")
                try await service.wait(forLine: "intake from its partition is paused")
                folder.delete("gate")
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event", within: .seconds(150)) {
                    wanted.isSubset(of: $0.lazy.map(\.event))
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(scene.outputs.all.repeats.isEmpty)
            }
        }
    }
}
